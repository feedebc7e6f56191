"""The claim on which nodes the members ran."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.result import Outcome, Result, unmeasured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence

EXPECTED = {
    "PerRole": "no two brokers and no two ZooKeeper servers on one node",
    "AllMembers": "no two brokers, no two ZooKeeper servers and no broker beside one on one node",
}


def judge(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    """Yield the result of ``nodeSpread``."""
    word = expect.get("nodeSpread")
    if not word:
        return
    kinds = {item.member: str(item.kind) for item in evidence.run.members}
    nodes: dict[str, set[str]] = defaultdict(set)
    for event in evidence.timeline.of(Source.POD, EventName.SCHEDULED, EventName.RUNNING):
        member, node = str(event.detail.get("member")), str(event.detail.get("node") or "")
        if member in kinds and node:
            nodes[node].add(member)
    placed = set().union(*nodes.values())
    if not kinds or placed != kinds.keys():
        missing = ", ".join(sorted(kinds.keys() - placed)) or "every member"
        yield unmeasured(
            "nodeSpread", EXPECTED[word], f"the timeline does not show where {missing} ran"
        )
        return
    shared = []
    for node, members in sorted(nodes.items()):
        found = [kinds[member] for member in members]
        together = len(members) > 1 if word == "AllMembers" else len(found) > len(set(found))
        if together:
            shared.append(f"{' and '.join(sorted(members))} on {node}")
    seen = "; ".join(shared) or f"{len(kinds)} members on {len(nodes)} nodes"
    result: Outcome = "NotMet" if shared else "Met"
    numbers = {"members": len(kinds), "nodes": len(nodes), "shared": len(shared)}
    yield Result("nodeSpread", EXPECTED[word], result, seen, numbers)
