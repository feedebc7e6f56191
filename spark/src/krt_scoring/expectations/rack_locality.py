"""The claim on reads from a broker of the reader's own zone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_contract.members import broker_of
from krt_contract.outcomes import ConsumerEvent
from krt_contract.settings import CLIENT_RACK
from krt_scoring.expectations.result import between, counted, unmeasured
from krt_scoring.expectations.states import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence
    from krt_scoring.expectations.result import Result


def judge(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    """Yield the results of ``closestReplicaFetches``."""
    wanted = expect.get("closestReplicaFetches") or ()
    if not wanted:
        return
    zones = {
        broker: item.zone
        for item in evidence.run.members
        if (broker := broker_of(item.member)) is not None
    }
    racks = {c.group: c.config.get(CLIENT_RACK, "") for c in evidence.run.consumers}
    found = list(_fetches(evidence))
    for item in wanted:
        claim, zone = f"closestReplicaFetches {item['group']}", racks.get(item["group"], "")
        what = f"partitions read in zone {zone}"
        own = [(place, broker) for group, place, broker in found if group == item["group"]]
        if not own:
            yield unmeasured(claim, between(item, what), "the group did not tell whom it read from")
            continue
        near = {place for place, broker in own if zones.get(broker) == zone}
        yield counted(claim, item, len(near), what, where=names(near))


def _fetches(evidence: Evidence) -> Iterator[tuple[str, tuple[str, int], int]]:
    """Yield group, partition and broker of each event that tells whom a member reads from."""
    columns = ("group", "event", "topic", "partition", "detail")
    for rows in evidence.rows("consumer_events", *columns):
        for group, event, topic, partition, detail in zip(
            *(rows[name] for name in columns), strict=True
        ):
            if event == ConsumerEvent.FETCHING:
                yield group, (topic, partition), int(json.loads(detail)["broker"])
