"""Recovery: how long after a revert everything that a fault took away was there again.

That is: every ISR was complete, no gap that the fault is named for was open, and every read that
was due until then was done. It counts from the revert, or from the injection of a fault that has
nothing to revert. A fault during which no ISR was incomplete and no gap was seen has no recovery;
that is another thing than a recovery before the revert. ISRs come from the
partition states of the timeline (their own znode times).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring.history.elections import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.plan import Plan
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.timeline import Timeline


@dataclass(frozen=True, slots=True)
class IsrRecovery:
    """What a fault did to the ISRs.

    Attributes:
        restored_at: when the last ISR was complete again, UTC µs: the revert where none was
            incomplete after it; None where an ISR never was, or the fault was not injected.
        shrank: whether an ISR was incomplete, or a partition without a leader, after the injection.
    """

    restored_at: int | None
    shrank: bool


@dataclass(frozen=True, slots=True)
class Recovery:
    """Recovery of one fault; times UTC µs, durations µs.

    Attributes:
        isr_restored_at: when the last ISR was complete again; None where an ISR never was.
        lag_cleared_at: when the last read due until then was done; None without reads.
        duration: from the revert until both, and until the last gap of the fault had ended; 0 where
            that was so before the revert; up to the run's end where not ``complete``.
        affected: whether an ISR was incomplete or a gap was seen; where not, there was nothing to
            recover from.
        recovered_at: when all of it was so, where that was after the revert; else None.
    """

    fault: str
    reverted_at: int
    isr_restored_at: int | None
    lag_cleared_at: int | None
    duration: int
    complete: bool
    affected: bool = True
    recovered_at: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the recovery as the scorecard holds it, without what is not known."""
        known = {
            "isrRestoredAt": self.isr_restored_at,
            "lagClearedAt": self.lag_cleared_at,
            "recoveredAt": self.recovered_at,
            "duration": self.duration if self.affected else None,
        }
        return {
            "fault": self.fault,
            "revertedAt": self.reverted_at,
            "affected": self.affected,
            "complete": self.complete,
            **{key: value for key, value in known.items() if value is not None},
        }


def isr_changes(timeline: Timeline, run: Plan) -> list[tuple[int, int]]:
    """Return (time, partitions short of replicas or without a leader), one entry a change.

    The size of a complete ISR is the topic's replication factor, for internal topics the largest
    ISR ever seen.
    """
    states = list(timeline.of(Source.PARTITION, EventName.STATE))
    full_size: dict[str, int] = {}
    for event in states:
        size = len(event.detail.get("isr") or ())
        full_size[event.subject] = max(full_size.get(event.subject, 0), size)
    for topic in run.topics:
        for partition in range(topic.partitions):
            full_size[f"{topic.name}-{partition}"] = topic.replication_factor
    short: set[str] = set()
    changes: list[tuple[int, int]] = []
    for event in states:
        size = len(event.detail.get("isr") or ())
        leaderless = event.detail.get("leader", NO_LEADER) == NO_LEADER
        if size < full_size[event.subject] or leaderless:
            short.add(event.subject)
        else:
            short.discard(event.subject)
        if not changes or changes[-1][1] != len(short):
            changes.append((event.at, len(short)))
    return changes


def isr_restored_at(
    changes: Sequence[tuple[int, int]], window: FaultWindow, until: int
) -> int | None:
    """Return when every ISR was complete after a fault, None if an ISR was not at ``until``.

    It is the last time before ``until``: a pod that is deleted and restarted at once is reverted
    before its ISRs have even shrunk.
    """
    start = reverted(window)
    if start is None:
        return None
    seen = [(at, short) for at, short in changes if at <= until]
    if seen and seen[-1][1] > 0:
        later = [at for at, short in changes if at > until and short == 0]
        return later[0] if later and window.recovered_at is not None else None
    since = [at for at, short in seen if short == 0 and at >= start]
    return max([start, *since[-1:]])


def reverted(window: FaultWindow) -> int | None:
    """Return when a fault ended: its revert, or its injection where there is nothing to revert."""
    return window.reverted_at if window.reverted_at is not None else window.injected_at


def isr_recoveries(
    timeline: Timeline, run: Plan, windows: Sequence[FaultWindow], end: int
) -> list[IsrRecovery]:
    """Return what each fault did to the ISRs; ``end`` is the run's end, UTC µs."""
    changes = isr_changes(timeline, run)
    found: list[IsrRecovery] = []
    for window in windows:
        until = window.recovered_at if window.recovered_at is not None else end
        shrank = window.injected_at is not None and _any_short(changes, window.injected_at, until)
        found.append(IsrRecovery(isr_restored_at(changes, window, until), shrank))
    return found


def _any_short(changes: Sequence[tuple[int, int]], since: int, until: int) -> bool:
    """Whether any ISR was incomplete then, also one that had been before."""
    before = [short for at, short in changes if at < since][-1:]
    return any([*before, *(short for at, short in changes if since <= at <= until)])


def available_again(
    isrs: Sequence[IsrRecovery], served_again: Mapping[int, int]
) -> list[int | None]:
    """Return when, for each fault, every ISR was complete and its last gap had ended.

    Args:
        isrs: what each fault did to the ISRs.
        served_again: index of the fault → end of its last gap, UTC µs.
    """
    return [
        None if isr.restored_at is None else max(isr.restored_at, served_again.get(index, 0))
        for index, isr in enumerate(isrs)
    ]


def recoveries(
    windows: Sequence[FaultWindow],
    isrs: Sequence[IsrRecovery],
    served_again: Mapping[int, int],
    last_read: Mapping[int, int],
    end: int,
) -> list[Recovery]:
    """Return the recovery of each injected fault.

    Args:
        windows: the faults.
        isrs: what each did to the ISRs.
        served_again: index of the fault → end of its last gap, UTC µs.
        last_read: index of the fault → when the last read due until then was done, UTC µs.
        end: when the run ended, UTC µs.
    """
    found = []
    available = available_again(isrs, served_again)
    for index, window in enumerate(windows):
        start = reverted(window)
        if start is None:
            continue
        again, cleared_at = available[index], last_read.get(index)
        affected = again is None or isrs[index].shrank or index in served_again
        until = end if again is None else max(again, cleared_at or again)
        after_revert = again is not None and affected and until > start
        found.append(
            Recovery(
                fault=window.name,
                reverted_at=start,
                isr_restored_at=isrs[index].restored_at,
                lag_cleared_at=cleared_at,
                duration=max(0, until - start) if affected else 0,
                complete=again is not None,
                affected=affected,
                recovered_at=until if after_revert else None,
            )
        )
    return found


def longest(found: Sequence[Recovery]) -> int | None:
    """Return the longest recovery in µs; None where no fault affected anything."""
    return max((item.duration for item in found if item.affected), default=None)
