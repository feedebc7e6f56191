"""What scoring reads: the bundle's files, the plan, the topics, the timeline, members' logs."""
