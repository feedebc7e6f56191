"""What evidence in the embedded object store costs, beside a folder on the same disk."""
