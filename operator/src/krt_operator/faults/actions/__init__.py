"""Fault actions, one module each; the registry is krt_operator.faults.registry."""
