"""What was run, as far as the files and ``history.json`` tell, in the form of ``run.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.entries import Imported, Topic
from krt_contract.plan import Plan
from krt_scoring.inputs.importers.verifiable.consumers import RUN_UID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_scoring.inputs.importers.verifiable.consumers import Got
    from krt_scoring.inputs.importers.verifiable.producers import Sent
    from krt_scoring.inputs.importers.verifiable.settings import Settings

NOT_JUDGED = ("accepted-below-min-isr", "misplaced-delivery", "vanished-read")
"""Anomalies that need the log or the ISRs, which such a history does not hold."""

NOT_MEASURED = ("availability", "latency", "recovery")
"""Figures that need to know when operations were due and when faults acted."""


def make_plan(settings: Settings, sent: Iterable[Sent], got: Iterable[Got]) -> Plan:
    """Return the plan of an imported history."""
    sent, got = list(sent), list(got)
    ends = known_ends(sent, got)
    topics = {topic: 0 for topic, _ in ends}
    topics |= {owned.place[0]: 0 for item in got for owned in item.owned}
    for topic, partition in [*ends, *(owned.place for item in got for owned in item.owned)]:
        topics[topic] = max(topics[topic], partition + 1)
    topics |= {item.topic: topics.get(item.topic, 0) for item in sent if item.topic}
    of_group: dict[str, set[str]] = {}
    for item in got:
        places = {*item.ends, *(owned.place for owned in item.owned)}
        of_group.setdefault(item.process.group, set()).update(topic for topic, _ in places)
    spec: dict[str, Any] = {
        "traffic": {
            "producers": [_producer(settings, item) for item in sent if item.topic],
            "consumers": [_consumer(settings, item, of_group[item.process.group]) for item in got],
        },
        "scoring": {"objectives": settings.raw.get("objectives", {})},
    }
    return Plan(
        namespace="verifiable",
        name=settings.name,
        uid=RUN_UID,
        seed=0,
        resolved_spec=spec,
        topics=tuple(_topic(settings, name, topics[name]) for name in sorted(topics)),
        broker_config=_texts(settings.raw.get("brokerConfig", {})),
        imported=Imported("verifiable", NOT_JUDGED, NOT_MEASURED),
    )


def known_ends(sent: Iterable[Sent], got: Iterable[Got]) -> dict[tuple[str, int], int]:
    """Return (topic, partition) → one above the highest offset that any process reported."""
    ends: dict[tuple[str, int], int] = {}
    reported = [
        ((item.topic, p), end) for item in sent if item.topic for p, end in item.ends.items()
    ]
    for place, end in [*reported, *(pair for item in got for pair in item.ends.items())]:
        ends[place] = max(ends.get(place, 0), end)
    return ends


def _producer(settings: Settings, item: Sent) -> dict[str, Any]:
    own = settings.producer(item.process.name)
    return {**own, "name": item.process.name, "topic": item.topic, "replicas": 1}


def _consumer(settings: Settings, item: Got, topics: set[str]) -> dict[str, Any]:
    own = settings.group(item.process.group)
    return {
        "name": item.process.name,
        "group": item.process.group,
        "topics": sorted(topics),
        "replicas": 1,
        **{key: own[key] for key in ("commit", "isolation", "config")},
    }


def _topic(settings: Settings, name: str, partitions: int) -> Topic:
    own = settings.topic(name)
    return Topic(
        name=name,
        partitions=max(partitions, int(own.get("partitions", 0))),
        replication_factor=int(own.get("replicationFactor", 1)),
        config=_texts(own.get("config", {})),
    )


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in settings.items()}
