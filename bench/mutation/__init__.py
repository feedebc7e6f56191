"""How many changed rules the tests notice: each condition of the rules is altered, one by one."""
