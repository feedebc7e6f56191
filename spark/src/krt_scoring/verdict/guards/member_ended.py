"""A broker or ZooKeeper server that ended during the run, and not by a fault of the test.

What the cluster did from then on is not what the test describes: an outage may be that member's,
and a test that loses nothing was another test. The member's log says whether Kafka ended itself or
was short of memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from krt_contract.members import MemberKind, kind_of
from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.reasons import Reason
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_contract.timeline import Event
    from krt_scoring.inputs.recording import Recording

OUT_OF_MEMORY: Final = 3
"""Exit code of a JVM with -XX:+ExitOnOutOfMemoryError, with which members run."""


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``MemberOutOfMemory`` or ``MemberEnded`` for each member that no fault ended."""
    phases = list(recording.timeline.of(Source.PHASE, EventName.ENTERED))
    begin = min((event.at for event in phases if event.subject == "Warmup"), default=FOREVER)
    end = min((event.at for event in phases if event.subject == "CleaningUp"), default=FOREVER)
    killed = {_process(event) for event in recording.timeline.of(Source.MEMBER, EventName.KILLED)}
    ended: dict[tuple[str, object], None] = {}
    for event in recording.timeline.of(Source.MEMBER, EventName.EXITED):
        member = str(event.detail.get("member"))
        if (
            begin <= event.at < end
            and _process(event) not in killed
            and not _is_faulted(recording, member, event.at, event.at)
        ):
            ended[member, event.detail.get("exitCode")] = None
    for member, before, after in _starts_without_end(recording):
        if begin <= after < end and not _is_faulted(recording, member, before, after):
            ended[member, None] = None
    for member, code in ended:
        if code == OUT_OF_MEMORY:
            message = (
                "its JVM was out of memory and ended, which no fault of the test explains; raise "
                "the memory limit of its resources, or lower recordsPerSecond"
            )
            yield Reason("coverage", "MemberOutOfMemory", member, message)
        else:
            how = "unseen, as with its node," if code is None else f"with exit code {code},"
            message = (
                f"its process ended {how} which no fault of the test explains; its log in the "
                "evidence and the events of its pod and node say why"
            )
            yield Reason("coverage", "MemberEnded", member, message)


def _process(event: Event) -> tuple[str, str]:
    return str(event.detail.get("uid")), str(event.detail.get("pid"))


def _starts_without_end(recording: Recording) -> Iterator[tuple[str, int, int]]:
    """Yield each member that started twice without an end between, with the times of both starts.

    What reports the end of a process is lost with its node, or with its container.
    """
    lives: dict[str, list[Event]] = {}
    for event in recording.timeline.of(
        Source.MEMBER, EventName.STARTED, EventName.KILLED, EventName.EXITED
    ):
        lives.setdefault(str(event.detail.get("member")), []).append(event)
    for member, events in lives.items():
        in_order = sorted(events, key=lambda event: event.at)
        for before, after in pairwise(in_order):
            if before.event == after.event == EventName.STARTED:
                yield member, before.at, after.at


def _is_faulted(recording: Recording, member: str, begin: int, end: int) -> bool:
    """Whether a fault was open on this member or, as brokers may end with it, on ZooKeeper."""
    return any(
        window.meets(begin, end)
        and (
            member in window.members
            or any(kind_of(item) is MemberKind.ZOOKEEPER for item in window.members)
        )
        for window in recording.faults
    )
