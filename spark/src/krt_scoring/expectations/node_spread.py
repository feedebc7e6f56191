"""The expectation about the nodes on which the members ran."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.results import Outcome, Result, not_evaluated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from krt_scoring.inputs.recording import Recording

EXPECTED = {
    "PerRole": "no two brokers and no two ZooKeeper servers on one node",
    "AllMembers": "no two brokers or ZooKeeper servers on one node, nor one of each",
}


def evaluate(expect: Mapping[str, Any], recording: Recording) -> Iterator[Result]:
    """Yield the result of ``nodeSpread``."""
    word = expect.get("nodeSpread")
    if not word:
        return
    kinds = {item.member: str(item.kind) for item in recording.run.members}
    groups = _groups(recording, kinds.keys())
    placed = {member for _, members in groups for member in members}
    if not kinds or placed != kinds.keys():
        missing = ", ".join(sorted(kinds.keys() - placed)) or "every member"
        yield not_evaluated(
            "nodeSpread", EXPECTED[word], f"the timeline does not show where {missing} ran"
        )
        return
    shared = []
    for node, members in groups:
        found = [kinds[member] for member in members]
        together = len(members) > 1 if word == "AllMembers" else len(found) > len(set(found))
        if together:
            shared.append(f"{' and '.join(members)} on {node}")
    nodes = {node for node, _ in groups}
    observed = "; ".join(shared) or f"{len(kinds)} members on {len(nodes)} nodes"
    result: Outcome = "NotMet" if shared else "Met"
    numbers = {"members": len(kinds), "nodes": len(nodes), "shared": len(shared)}
    yield Result("nodeSpread", EXPECTED[word], result, observed, numbers)


def _groups(recording: Recording, known: AbstractSet[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each node with members that were there at one time, in order.

    Of a node's groups, those that a greater one contains are left out.
    """
    places: dict[str, tuple[str, str]] = {}
    found: dict[str, set[frozenset[str]]] = defaultdict(set)
    for event in recording.timeline.of(
        Source.POD, EventName.SCHEDULED, EventName.RUNNING, EventName.DELETED
    ):
        member, uid, node = (str(event.detail.get(key) or "") for key in ("member", "uid", "node"))
        if event.event == EventName.DELETED:
            if places.get(member, ("", ""))[0] == uid:
                del places[member]
        elif member in known and node:
            places[member] = (uid, node)
            there = frozenset(name for name, (_, where) in places.items() if where == node)
            found[node] = {group for group in found[node] if not group <= there} | {there}
    return [
        (node, tuple(sorted(group)))
        for node, groups in sorted(found.items())
        for group in sorted(groups, key=sorted)
    ]
