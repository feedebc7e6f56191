"""What the members wrote to their logs that the timeline lacks."""
