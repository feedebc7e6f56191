"""``krt doctor``: checks a cluster before the first test."""
