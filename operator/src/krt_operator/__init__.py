"""The controller of KafkaResilienceTest resources."""

from typing import Final

__version__: Final = "0.1.0"
"""Written into every plan; the chart's appVersion."""
