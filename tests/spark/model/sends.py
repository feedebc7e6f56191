"""A send on its way, and what a client keeps for one partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.spark.model.log import Record


@dataclass(slots=True, eq=False)
class Send:
    """One send; the times are µs of the run, ``outcome`` None while it is not known."""

    record: Record
    due: int
    sent: int
    number: int | None = None
    flying: int = 0
    tries: int = 0
    done: int = 0
    outcome: str | None = None
    offset: int | None = None
    error: str | None = None
    fate: str | None = None

    def end(self, outcome: str, at: int, error: str | None = None) -> None:
        """Settle it."""
        self.outcome, self.done, self.error = outcome, at, error


@dataclass(slots=True)
class Lane:
    """The sends to one partition: queued in order of seq, and on the wire to one broker."""

    queue: list[Send] = field(default_factory=list)
    flying: dict[int, tuple[Send, int]] = field(default_factory=dict)
    numbered: int = 0
