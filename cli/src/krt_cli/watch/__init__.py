"""``krt watch``: follows one test to its end."""
