"""The phases: one module each, `step(run, world, ports, settings) -> Progress`."""
