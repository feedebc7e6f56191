"""What evidence in the embedded object store costs, compared with a folder on the same disk."""
