"""``krt report``: what to do with the results of runs that have ended."""
