"""From anomalies and guards to the verdict, the score and the summary."""
