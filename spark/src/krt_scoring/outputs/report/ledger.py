"""The ledger as a flow: attempts, how each send ended, and what became of the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTCOMES = {
    "delivered": ("delivered", "delivered to every group that had to get them"),
    "deliveredLate": (
        "delivered late",
        "delivered to the last group only after the fault had reverted",
    ),
    "undelivered": ("undelivered", "in the log, but never delivered to a group"),
    "expired": ("expired", "deleted by retention, below the start of the log"),
    "lost": ("lost", "missing from the log"),
    "unknownInLog": ("in the log", "in the log"),
    "unknownNotInLog": ("not in the log", "not in the log"),
    "failedNotInLog": ("not in the log", "not in the log, as it should be"),
    "failedInLog": ("in the log", "in the log although the send failed"),
}
"""Outcome of the ledger identity → its name in the flow, and what it means for the records."""

IDENTITY = {
    "acked": ("delivered", "deliveredLate", "undelivered", "expired", "lost"),
    "unknown": ("unknownInLog", "unknownNotInLog"),
    "failed": ("failedNotInLog", "failedInLog"),
}
"""Outcome of a send → the outcomes that its records are divided into."""

SENDS = {
    "acked": "acknowledged",
    "unknown": "unknown: the producer never learnt",
    "failed": "failed: certainly not acknowledged",
}
"""Outcome of a send → what it means."""

BAD = frozenset({"lost", "undelivered", "failedInLog"})
"""Outcomes that are drawn as a warning."""

FULL = 1000
"""Length of a bar that stands for all attempts, in thousandths."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the flow.

    Attributes:
        key: its name in the scorecard.
        name: what it is called.
        count: records.
        text: what it means.
        length: of its bar, in thousandths of that of all attempts.
        bad: whether it is a warning.
        parts: what it is divided into.
    """

    key: str
    name: str
    count: int
    text: str
    length: int
    bad: bool = False
    parts: tuple[Part, ...] = ()


def flow(ledger: Mapping[str, int]) -> tuple[Part, ...]:
    """Return how the sends of a run ended, and each with what became of its records."""
    whole = ledger.get("attempted", 0)
    found = []
    for send, outcomes in IDENTITY.items():
        parts = tuple(
            Part(
                name,
                OUTCOMES[name][0],
                ledger.get(name, 0),
                OUTCOMES[name][1],
                _length(ledger.get(name, 0), whole),
                bad=name in BAD and ledger.get(name, 0) > 0,
            )
            for name in outcomes
        )
        count = ledger.get(send, 0)
        found.append(Part(send, send, count, SENDS[send], _length(count, whole), parts=parts))
    return tuple(found)


def _length(count: int, whole: int) -> int:
    """Return the length of a bar; never 0 for what is there."""
    return max(FULL * count // whole, 4) if count and whole else 0
