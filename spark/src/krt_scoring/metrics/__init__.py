"""What a run is measured by: operations, latency, gaps, recovery, partitions."""
