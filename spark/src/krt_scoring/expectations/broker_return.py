"""Claims on the member that was hit: whether it went, how it ended, where it fetched from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from krt_contract.faults import ObservationKind
from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.result import Result, counted, unmeasured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence
    from krt_scoring.inputs.fault_windows import FaultWindow

FETCHER = re.compile(r"(\S+)-(\d+) -> InitialFetchState\(.*?\),(-?\d+),(-?\d+)\)")
"""What a broker logs of each partition it begins to fetch (AbstractFetcherManager): partition,
leader epoch and the offset it begins at, which is the end of its own log."""

BY_SIGNAL = 137
"""Exit code of a process that ended by SIGKILL (128 + 9)."""

EPHEMERAL = "krt-"
"""What the names of the containers begin with that act on a member; they end by themselves."""

RESYNC = {
    "Full": "every partition fetched from offset 0",
    "Incremental": "no partition fetched from offset 0",
}
SHUTDOWN = {
    "Graceful": "the process ended by itself",
    "Killed": "the process was killed after its grace period",
}


def of_fault(
    expect: Mapping[str, Any], window: FaultWindow, end: int, evidence: Evidence
) -> Iterator[Result]:
    """Yield the results of ``blockedEvictions``, ``replicaCatchUp`` and ``shutdown``."""
    if bounds := expect.get("blockedEvictions"):
        refused = [
            str(proof.get("subject"))
            for proof in window.observations
            if proof.get("kind") == ObservationKind.EVICTION_REFUSED
        ]
        where = ", ".join(refused)
        yield counted(
            f"{window.name}.blockedEvictions",
            bounds,
            len(refused),
            "evictions refused",
            where=where,
        )
    if word := expect.get("replicaCatchUp"):
        yield _resync(f"{window.name}.replicaCatchUp", word, window, end, evidence)
    if word := expect.get("shutdown"):
        yield _shutdown(f"{window.name}.shutdown", word, window, evidence)


def _shutdown(claim: str, word: str, window: FaultWindow, evidence: Evidence) -> Result:
    uids = window.target_uids
    start = window.injected_at or 0
    # Kubernetes tells how the container ended, the wrapper how java did; either may be too late to
    # be seen of a pod that goes.
    codes = {
        str(event.detail.get("uid")): int(event.detail.get("exitCode", BY_SIGNAL))
        for source in (Source.POD, Source.MEMBER)
        for event in evidence.timeline.of(source, EventName.EXITED)
        if event.at >= start
        and str(event.detail.get("uid")) in uids
        and not str(event.detail.get("container", "")).startswith(EPHEMERAL)
    }
    gone = {
        str(event.detail.get("uid"))
        for event in evidence.timeline.of(Source.POD, EventName.DELETED)
        if str(event.detail.get("uid")) in uids
    }
    if not gone and not codes:
        return unmeasured(claim, SHUTDOWN[word], "the timeline shows no end of the process")
    # The wrapper tells how java ended; kubelet's SIGKILL at the end of the grace takes it as well.
    graceful = [uid for uid, code in codes.items() if code != BY_SIGNAL]
    held = len(graceful) == (len(uids) if word == "Graceful" else 0)
    numbers = {"graceful": len(graceful), "killed": len(uids) - len(graceful)}
    seen = f"{numbers['graceful']} ended by itself, {numbers['killed']} killed"
    return Result(claim, SHUTDOWN[word], "Met" if held else "NotMet", seen, numbers)


def _resync(claim: str, word: str, window: FaultWindow, end: int, evidence: Evidence) -> Result:
    tested = set(evidence.states.replicas)
    offsets: dict[tuple[str, str, int], int] = {}
    for target in window.targets:
        for topic, partition, offset in _fetches(str(target.get("member")), window, end, evidence):
            if (topic, partition) in tested:
                offsets.setdefault((str(target.get("member")), topic, partition), offset)
    if not offsets:
        return unmeasured(claim, RESYNC[word], "its log does not show it fetch after its return")
    fresh = sum(offset == 0 for offset in offsets.values())
    held = fresh == (len(offsets) if word == "Full" else 0)
    first = ", ".join(
        f"{topic}-{partition} from {offset}"
        for (_, topic, partition), offset in sorted(offsets.items())[:8]
    )
    numbers = {"fromStart": fresh, "partitions": len(offsets)}
    return Result(claim, RESYNC[word], "Met" if held else "NotMet", first, numbers)


def _fetches(
    member: str, window: FaultWindow, end: int, evidence: Evidence
) -> Iterator[tuple[str, int, int]]:
    """Yield what a member began to fetch after the fault: topic, partition, offset."""
    old = window.target_uids
    pods = {
        (event.subject, str(event.detail.get("uid"))): event.at
        for event in evidence.timeline.of(Source.POD, EventName.ADDED)
        if event.detail.get("member") == member
    }
    for (pod, uid), at in sorted(pods.items(), key=lambda item: item[1]):
        path = evidence.logs / f"{pod}-{uid}.log" if evidence.logs else None
        # A pod that was there before the fault shows what it fetched before it, too.
        if uid in old or at > end or path is None or not path.is_file():
            continue
        if at < (window.injected_at or 0):
            continue
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if "Added fetcher" in line:
                    for topic, partition, _, offset in FETCHER.findall(line):
                        yield topic.rsplit("(", 1)[-1], int(partition), int(offset)
