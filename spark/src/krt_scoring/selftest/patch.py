"""What a corruption changes: rows put in the place of others, never the evidence itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
"""A row of a ledger table: column → value."""

Place = tuple[str, int, int]
"""Topic, partition, offset."""

Sent = tuple[str, str, int]
"""Producer, incarnation, seq."""


@dataclass(frozen=True, slots=True)
class ShortIsr:
    """States to add for a partition: its ISR is too small from ``begin`` to ``end``."""

    topic: str
    partition: int
    begin: int
    end: int
    isr: tuple[int, ...]


@dataclass(frozen=True)
class Patch:
    """Changes to a copy of a history.

    Attributes:
        produce: a send → the rows that stand for it in the copy.
        log: a place → the rows the log holds there in the copy.
        consume: a place → the deliveries from there, to all groups, in the copy.
        events: rows added to the consumers' events.
        close: (producer, incarnation, column) → what is added to the producer summary.
        states: what is added to the timeline.
        replicas: a place → what all brokers' replicas hold there in the copy.
    """

    produce: dict[Sent, list[Row]] = field(default_factory=dict)
    log: dict[Place, list[Row]] = field(default_factory=dict)
    consume: dict[Place, list[Row]] = field(default_factory=dict)
    events: tuple[Row, ...] = ()
    close: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    states: tuple[ShortIsr, ...] = ()
    replicas: dict[Place, list[Row]] = field(default_factory=dict)

    @property
    def touches(self) -> frozenset[object]:
        """What of the evidence is changed: sends and places."""
        apart = {("replica", *position) for position in self.replicas}
        return frozenset({*self.produce, *self.log, *self.consume, *apart})

    def __add__(self, other: Patch) -> Patch:
        """Return both patches as one; they must not touch the same things."""
        return Patch(
            produce={**self.produce, **other.produce},
            log={**self.log, **other.log},
            consume={**self.consume, **other.consume},
            events=(*self.events, *other.events),
            close=_sum(self.close, other.close),
            states=(*self.states, *other.states),
            replicas={**self.replicas, **other.replicas},
        )


def _sum(
    left: Counter[tuple[str, str, str]], right: Counter[tuple[str, str, str]]
) -> Counter[tuple[str, str, str]]:
    total = Counter(left)
    total.update(right)
    return total
