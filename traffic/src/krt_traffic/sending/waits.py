"""For how long a partition has acknowledged nothing, as far as is known now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OUTAGE_MICROS: Final = 1_000_000
"""A wait of a second is shown as an outage. Scoring measures its own limit from the steady state,
which is mostly below that, and is not known before the end."""


class Waits:
    """The open wait of each partition, to within the time between two updates.

    A wait begins with the last acknowledgement before a send is due, and ends with the next one.

    Args:
        partitions: those that are sent to.

    Attributes:
        micros: partition → microseconds for which it has been waited, 0 where nothing is due. It
            is replaced, never changed.
    """

    def __init__(self, partitions: Iterable[int]) -> None:
        self.micros = dict.fromkeys(partitions, 0)
        self._since: dict[int, int] = {}
        self._acked: dict[int, int] = {}
        self._updated = 0

    @property
    def outages(self) -> int:
        """Partitions whose wait is an outage."""
        return sum(wait >= OUTAGE_MICROS for wait in self.micros.values())

    def update(self, now: int, due: Iterable[int], acked: Mapping[int, int]) -> None:
        """Take what has become of the sends since the last update.

        Args:
            now: monotonic microseconds.
            due: partitions with a send that is in flight, or that was given up since then.
            acked: partition → offset of its last acknowledged record.
        """
        for partition, offset in acked.items():
            if self._acked.get(partition) != offset:
                self._since.pop(partition, None)
        self._acked = dict(acked)
        for partition in due:
            self._since.setdefault(partition, now)
        self.micros = {
            partition: now - self._since.get(partition, now) for partition in self.micros
        }
