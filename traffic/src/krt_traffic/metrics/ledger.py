"""What waits to be written into the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.metrics import LEDGER_WAITING
from krt_traffic.metrics.families import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.metrics_core import Metric as Family


class LedgerMetrics:
    """Reads how much waits.

    Args:
        test: name of the test.
        member: identity in evidence of the pod.
        waiting_bytes: returns the memory of the rows that wait now.
    """

    def __init__(self, test: str, member: str, waiting_bytes: Callable[[], int]) -> None:
        self._labels, self._waiting_bytes = (test, member), waiting_bytes

    def collect(self) -> Iterator[Family]:
        """Yield the metric."""
        yield values(LEDGER_WAITING, [(self._labels, self._waiting_bytes())])
