"""``krt diff``: compares the results of runs that have ended."""
