"""The phases: one module each, `step(run, observed, ports) -> Progress`."""
