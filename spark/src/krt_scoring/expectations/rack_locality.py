"""The expectation about fetches from a replica in the consumer's own zone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_contract.members import broker_of
from krt_contract.outcomes import ConsumerEvent
from krt_contract.settings import CLIENT_RACK
from krt_scoring.expectations.results import Noun, count_bounds, evaluate_count, not_evaluated
from krt_scoring.inputs.ledger_columns import read_rows
from krt_scoring.metrics.partition_states import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_contract.plan import Plan
    from krt_scoring.expectations.results import Result
    from krt_scoring.inputs.ledger_columns import Files


def evaluate(expect: Mapping[str, Any], run: Plan, files: Files) -> Iterator[Result]:
    """Yield the results of ``closestReplicaFetches``."""
    expected = expect.get("closestReplicaFetches") or ()
    if not expected:
        return
    zones = {
        broker: item.zone for item in run.members if (broker := broker_of(item.member)) is not None
    }
    racks = {c.group: c.config.get(CLIENT_RACK, "") for c in run.consumers}
    found = list(_fetches(files))
    for item in expected:
        expectation, zone = f"closestReplicaFetches {item['group']}", racks.get(item["group"], "")
        what = Noun(f"partition read in zone {zone}", f"partitions read in zone {zone}")
        own = [(place, broker) for group, place, broker in found if group == item["group"]]
        if not own:
            yield not_evaluated(
                expectation,
                count_bounds(item, what),
                "the group's events do not show from which broker it read",
            )
            continue
        near = {place for place, broker in own if zones.get(broker) == zone}
        yield evaluate_count(expectation, item, len(near), what, where=names(near))


def _fetches(files: Files) -> Iterator[tuple[str, tuple[str, int], int]]:
    """Yield group, partition and broker of each event that shows from where a member reads."""
    columns = ("group", "event", "topic", "partition", "detail")
    for group, event, topic, partition, detail in read_rows(files, "consumer_events", *columns):
        if event == ConsumerEvent.FETCHING:
            yield group, (topic, partition), int(json.loads(detail)["broker"])
