"""The anomalies: one module each, a registry of them, and the detection of all."""
