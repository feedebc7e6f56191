"""The expectation about the nodes on which the members ran."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.results import Outcome, Result, not_evaluated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    nodes: dict[str, set[str]] = defaultdict(set)
    for event in recording.timeline.of(Source.POD, EventName.SCHEDULED, EventName.RUNNING):
        member, node = str(event.detail.get("member")), str(event.detail.get("node") or "")
        if member in kinds and node:
            nodes[node].add(member)
    placed = set().union(*nodes.values())
    if not kinds or placed != kinds.keys():
        missing = ", ".join(sorted(kinds.keys() - placed)) or "every member"
        yield not_evaluated(
            "nodeSpread", EXPECTED[word], f"the timeline does not show where {missing} ran"
        )
        return
    shared = []
    for node, members in sorted(nodes.items()):
        found = [kinds[member] for member in members]
        together = len(members) > 1 if word == "AllMembers" else len(found) > len(set(found))
        if together:
            shared.append(f"{' and '.join(sorted(members))} on {node}")
    observed = "; ".join(shared) or f"{len(kinds)} members on {len(nodes)} nodes"
    result: Outcome = "NotMet" if shared else "Met"
    numbers = {"members": len(kinds), "nodes": len(nodes), "shared": len(shared)}
    yield Result("nodeSpread", EXPECTED[word], result, observed, numbers)
