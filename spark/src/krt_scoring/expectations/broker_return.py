"""Expectations about a fault's target: its eviction, how it ended, from where it fetched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from krt_contract.faults import ObservationKind
from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.results import Noun, Result, evaluate_count, not_evaluated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.fault_span import FaultSpan
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.inputs.timeline import Timeline

FETCHER = re.compile(r"(\S+)-(\d+) -> InitialFetchState\(.*?[)\]],(-?\d+),(-?\d+)\)")
"""What a broker logs of each partition it begins to fetch (AbstractFetcherManager): partition,
leader epoch and the offset it begins at, which is the end of its own log. The leader between them
is ``BrokerEndPoint(id=…)``, or ``BrokerEndPoint[id=…]`` in Kafka 4.4."""

BY_SIGNAL = 137
"""Exit code of a process that ended by SIGKILL (128 + 9)."""

EPHEMERAL = "krt-"
"""What the names of the containers begin with that act on a member; they end by themselves."""

CATCH_UP = {
    "Full": "every partition fetched from offset 0",
    "Incremental": "no partition fetched from offset 0",
}
SHUTDOWN = {
    "Graceful": "the process ended by itself",
    "Killed": "the process was killed after its grace period",
}


def evaluate(expect: Mapping[str, Any], span: FaultSpan, recording: Recording) -> Iterator[Result]:
    """Yield the results of ``blockedEvictions``, ``replicaCatchUp`` and ``shutdown``."""
    if bounds := expect.get("blockedEvictions"):
        refused = [
            str(observation.get("subject"))
            for observation in span.fault.observations
            if observation.get("kind") == ObservationKind.EVICTION_REFUSED
        ]
        where = ", ".join(refused)
        yield evaluate_count(
            f"{span.name}.blockedEvictions",
            bounds,
            len(refused),
            Noun("eviction refused", "evictions refused"),
            where=where,
        )
    if word := expect.get("replicaCatchUp"):
        yield _catch_up(f"{span.name}.replicaCatchUp", word, span, recording)
    if word := expect.get("shutdown"):
        yield _shutdown(f"{span.name}.shutdown", word, span, recording.timeline)


def _shutdown(expectation: str, word: str, span: FaultSpan, timeline: Timeline) -> Result:
    uids = span.fault.target_uids
    # Kubernetes reports how the container ended, the wrapper how java did; either report may come
    # too late of a pod that is deleted.
    codes = {
        str(event.detail.get("uid")): int(event.detail.get("exitCode", BY_SIGNAL))
        for source in ("pod", "member")
        for event in timeline.of(source, "exited")
        if event.at >= span.start
        and str(event.detail.get("uid")) in uids
        and not str(event.detail.get("container", "")).startswith(EPHEMERAL)
    }
    gone = {
        str(event.detail.get("uid"))
        for event in timeline.of(Source.POD, EventName.DELETED)
        if str(event.detail.get("uid")) in uids
    }
    if not gone and not codes:
        return not_evaluated(
            expectation, SHUTDOWN[word], "the timeline shows no end of the process"
        )
    # The wrapper reports how java ended; the kubelet's SIGKILL after the grace period ends both.
    graceful = [uid for uid, code in codes.items() if code != BY_SIGNAL]
    met = len(graceful) == (len(uids) if word == "Graceful" else 0)
    numbers = {"graceful": len(graceful), "killed": len(uids) - len(graceful)}
    observed = f"{numbers['graceful']} ended by itself, {numbers['killed']} killed"
    return Result(expectation, SHUTDOWN[word], "Met" if met else "NotMet", observed, numbers)


def _catch_up(expectation: str, word: str, span: FaultSpan, recording: Recording) -> Result:
    tested = {
        (topic.name, partition)
        for topic in recording.run.topics
        for partition in range(topic.partitions)
    }
    offsets: dict[tuple[str, str, int], int] = {}
    for target in span.fault.targets:
        for topic, partition, offset in _fetches(str(target.get("member")), span, recording):
            if (topic, partition) in tested:
                offsets.setdefault((str(target.get("member")), topic, partition), offset)
    if not offsets:
        return not_evaluated(
            expectation, CATCH_UP[word], "the broker's log does not show a fetch after its return"
        )
    fresh = sum(offset == 0 for offset in offsets.values())
    met = fresh == (len(offsets) if word == "Full" else 0)
    first = ", ".join(
        f"{topic}-{partition} from {offset}"
        for (_, topic, partition), offset in sorted(offsets.items())[:8]
    )
    numbers = {"fromStart": fresh, "partitions": len(offsets)}
    return Result(expectation, CATCH_UP[word], "Met" if met else "NotMet", first, numbers)


def _fetches(member: str, span: FaultSpan, recording: Recording) -> Iterator[tuple[str, int, int]]:
    """Yield what a member began to fetch after the fault: topic, partition, offset."""
    old, logs = span.fault.target_uids, recording.inspection.bundle.logs
    pods = {
        (event.subject, str(event.detail.get("uid"))): event.at
        for event in recording.timeline.of(Source.POD, EventName.ADDED)
        if event.detail.get("member") == member
    }
    for (pod, uid), at in sorted(pods.items(), key=lambda item: item[1]):
        path = logs / f"{pod}-{uid}.log"
        # A pod that was there before the fault shows what it fetched before it, too.
        if uid in old or at > span.end or not path.is_file():
            continue
        if at < span.start:
            continue
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if "Added fetcher" in line:
                    for topic, partition, _, offset in FETCHER.findall(line):
                        yield topic.rsplit("(", 1)[-1], int(partition), int(offset)
