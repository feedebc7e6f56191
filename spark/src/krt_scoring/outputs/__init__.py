"""What scoring writes: scorecard, report, JUnit, ConfigMap, termination message."""
