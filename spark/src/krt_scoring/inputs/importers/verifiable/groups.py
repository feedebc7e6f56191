"""What only all members of a group tell together: where it starts, and whether it read it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.outcomes import ConsumerEvent
from krt_scoring.inputs.importers.verifiable.settings import EARLIEST
from krt_scoring.inputs.importers.verifiable.sink import Sink

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_contract.bundle import Bundle
    from krt_scoring.inputs.importers.verifiable.consumers import Got, Ownership, Place
    from krt_scoring.inputs.importers.verifiable.layout import Process
    from krt_scoring.inputs.importers.verifiable.settings import Settings


def write(
    bundle: Bundle, configured: Settings, got: Iterable[Got], ends: Mapping[Place, int]
) -> None:
    """Write every assignment with its start, and ``drained`` where a group read to the end.

    VerifiableConsumer does not say at which offset an assignment starts: the first of a group
    starts where its settings say, any later one at the first record it was given.

    Args:
        bundle: where to.
        configured: settings of the groups.
        got: what the consumers' files hold.
        ends: one above the highest offset reported for a partition.
    """
    got = list(got)
    rows: dict[Process, list[dict[str, Any]]] = {item.process: [] for item in got}
    for (group, _), owned in sorted(_by_place(got).items()):
        owned.sort(key=lambda one: one.order)
        owned[0].offset = _start(owned, configured.group(group)["start"])
        for one in owned:
            row = _row(one.place, one.at, one.n, ConsumerEvent.ASSIGNED, one.offset)
            rows[one.process].append(row)
    for place, item in _reached(got, ends):
        row = _row(place, item.last, item.next_n, ConsumerEvent.DRAINED, ends[place])
        rows[item.process].append(row)
        item.next_n += 1
    for process, own in rows.items():
        sink = Sink(bundle, "consumer_events", f"{process.incarnation}-group")
        for row in own:
            sink.add(
                consumer=process.identity,
                incarnation=process.incarnation,
                group=process.group,
                **row,
            )
        sink.flush()


def _start(owned: list[Ownership], start: str) -> int | None:
    if start == EARLIEST:
        return 0
    return next((one.offset for one in owned if one.offset is not None), None)


def _by_place(got: list[Got]) -> dict[tuple[str, Place], list[Ownership]]:
    found: dict[tuple[str, Place], list[Ownership]] = {}
    for item in got:
        for owned in item.owned:
            found.setdefault((item.process.group, owned.place), []).append(owned)
    return found


def _reached(got: list[Got], ends: Mapping[Place, int]) -> list[tuple[Place, Got]]:
    """Return each (place, member) where a member of a group was given the last offset known."""
    found: dict[tuple[str, Place], Got] = {}
    for item in got:
        for place, end in item.ends.items():
            if end >= ends[place]:
                found.setdefault((item.process.group, place), item)
    return [(place, found[group, place]) for group, place in sorted(found)]


def _row(place: Place, at: int, n: int, event: str, offset: int | None) -> dict[str, Any]:
    return {
        "topic": place[0],
        "partition": place[1],
        "at": at,
        "mono": at,
        "event_seq": n,
        "event": event,
        "offset": offset,
    }
