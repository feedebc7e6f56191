"""What a group that commits before it processes has processed, as its members noted it.

A record is handed out, its offset is committed, and only then is it processed; the note of that is
durable half a second later at most. So what a killed member had handed out and not noted counts as
not processed unless another member noted it: it is what the application may never have done.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.expectations.evidence import Evidence

Delivery = tuple[str, str, int, int]
"""Group, topic, partition, offset."""


def count_processing(evidence: Evidence) -> dict[str, int]:
    """Return ``unprocessed`` and ``processedTwice``: records and groups of the run.

    Two passes over the deliveries; only what was not noted at once, or lies where two members
    overlap, is held in memory.
    """
    groups = {c.group for c in evidence.run.consumers if c.commit == "BeforeProcessing"}
    noted = _noted(evidence)
    open_ones: set[Delivery] = set()
    handed: dict[tuple[str, str, int], list[tuple[int, int]]] = defaultdict(list)
    ranges: dict[tuple[str, tuple[str, str, int]], list[int]] = {}
    for incarnation, place, processed in _deliveries(evidence, groups, noted):
        if not processed:
            open_ones.add(place)
            continue
        reach = ranges.setdefault((incarnation, place[:3]), [place[3], place[3]])
        reach[0], reach[1] = min(reach[0], place[3]), max(reach[1], place[3])
    for (_, where), (low, high) in ranges.items():
        handed[where].append((low, high))
    overlaps = {key: _overlap(spans) for key, spans in handed.items()}
    twice: Counter[Delivery] = Counter()
    for _, place, processed in _deliveries(evidence, groups, noted):
        if not processed:
            continue
        open_ones.discard(place)
        if any(low <= place[3] <= high for low, high in overlaps[place[:3]]):
            twice[place] += 1
    return {
        "unprocessed": len(open_ones),
        "processedTwice": sum(count > 1 for count in twice.values()),
    }


def _noted(evidence: Evidence) -> dict[tuple[str, str, int], int]:
    """Incarnation and partition → the position up to which it noted records as processed."""
    found: dict[tuple[str, str, int], int] = {}
    columns = ("incarnation", "event", "topic", "partition", "offset")
    for rows in evidence.rows("consumer_events", *columns):
        for incarnation, event, topic, partition, offset in zip(
            *(rows[name] for name in columns), strict=True
        ):
            if event == ConsumerEvent.PROCESSED and offset is not None:
                key = (incarnation, topic, partition)
                found[key] = max(found.get(key, 0), offset)
    return found


def _deliveries(
    evidence: Evidence, groups: set[str], noted: dict[tuple[str, str, int], int]
) -> Iterator[tuple[str, Delivery, bool]]:
    """Yield incarnation, delivery, and whether it was noted as processed."""
    columns = ("incarnation", "group", "topic", "partition", "offset", "outcome")
    for rows in evidence.rows("consume", *columns):
        for incarnation, group, topic, partition, offset, outcome in zip(
            *(rows[name] for name in columns), strict=True
        ):
            if group in groups and outcome == DeliveryOutcome.OK:
                done = offset < noted.get((incarnation, topic, partition), 0)
                yield incarnation, (group, topic, partition, offset), done


def _overlap(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where two or more spans (both ends included) lie over each other."""
    found = []
    reached = -1
    for low, high in sorted(spans):
        if low <= reached:
            found.append((low, min(high, reached)))
        reached = max(reached, high)
    return found
