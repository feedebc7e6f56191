"""The fault actions, one module each; `krt_operator.faults.registry` lists them."""
