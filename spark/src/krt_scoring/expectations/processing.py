"""Expectations about a group that commits before it processes: what its members recorded.

A record is delivered, its offset is committed, and only then is it processed; the event that
records this is durable half a second later at most. So what a killed member received without
recording it as processed counts as not processed, unless another member recorded it: the
application may never have processed it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import ConsumerEvent, DeliveryOutcome
from krt_scoring.expectations.results import (
    OCCURRENCES,
    Result,
    evaluate_occurrence,
    not_evaluated,
)
from krt_scoring.inputs.ledger_columns import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_contract.plan import Plan
    from krt_scoring.inputs.ledger_columns import Files

Delivery = tuple[str, str, int, int]
"""Group, topic, partition, offset."""


def evaluate(expect: Mapping[str, Any], run: Plan, files: Files) -> Iterator[Result]:
    """Yield the results of ``unprocessed`` and ``processedTwice``.

    Args:
        expect: ``spec.expect``.
        run: the plan.
        files: table of the bundle → its usable files.
    """
    for expectation in ("unprocessed", "processedTwice"):
        if expectation not in expect:
            continue
        word = expect[expectation]
        if not any(consumer.commit == "BeforeProcessing" for consumer in run.consumers):
            cause = "no group commits BeforeProcessing"
            yield not_evaluated(expectation, OCCURRENCES[word], cause)
        elif not files.get("consume"):
            yield not_evaluated(expectation, OCCURRENCES[word], "there are no deliveries")
        else:
            count = count_processing(run, files)[expectation]
            yield evaluate_occurrence(expectation, word, count, 0, f"{count} (record, group)")


def count_processing(run: Plan, files: Files) -> dict[str, int]:
    """Return ``unprocessed`` and ``processedTwice``: records and groups of the run.

    Two passes over the deliveries; memory is taken only by what was not recorded as processed at
    once, or lies where two members overlap.
    """
    groups = {c.group for c in run.consumers if c.commit == "BeforeProcessing"}
    processed_up_to = _processed_up_to(files)
    unprocessed: set[Delivery] = set()
    ranges_of: dict[tuple[str, str, int], list[tuple[int, int]]] = defaultdict(list)
    ranges: dict[tuple[str, tuple[str, str, int]], list[int]] = {}
    for incarnation, place, processed in _deliveries(files, groups, processed_up_to):
        if not processed:
            unprocessed.add(place)
            continue
        reach = ranges.setdefault((incarnation, place[:3]), [place[3], place[3]])
        reach[0], reach[1] = min(reach[0], place[3]), max(reach[1], place[3])
    for (_, where), (low, high) in ranges.items():
        ranges_of[where].append((low, high))
    overlaps = {key: _overlap(spans) for key, spans in ranges_of.items()}
    twice: Counter[Delivery] = Counter()
    for _, place, processed in _deliveries(files, groups, processed_up_to):
        if not processed:
            continue
        unprocessed.discard(place)
        if any(low <= place[3] <= high for low, high in overlaps[place[:3]]):
            twice[place] += 1
    return {
        "unprocessed": len(unprocessed),
        "processedTwice": sum(count > 1 for count in twice.values()),
    }


def _processed_up_to(files: Files) -> dict[tuple[str, str, int], int]:
    """Incarnation and partition → the position up to which it recorded records as processed."""
    found: dict[tuple[str, str, int], int] = {}
    columns = ("incarnation", "event", "topic", "partition", "offset")
    for row in read_rows(files, "consumer_events", *columns):
        incarnation, event, topic, partition, offset = row
        if event == ConsumerEvent.PROCESSED and offset is not None:
            key = (incarnation, topic, partition)
            found[key] = max(found.get(key, 0), offset)
    return found


def _deliveries(
    files: Files, groups: set[str], processed_up_to: dict[tuple[str, str, int], int]
) -> Iterator[tuple[str, Delivery, bool]]:
    """Yield incarnation, delivery, and whether it was recorded as processed."""
    columns = ("incarnation", "group", "topic", "partition", "offset", "outcome")
    for row in read_rows(files, "consume", *columns):
        incarnation, group, topic, partition, offset, outcome = row
        if group in groups and outcome == DeliveryOutcome.OK:
            done = offset < processed_up_to.get((incarnation, topic, partition), 0)
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
