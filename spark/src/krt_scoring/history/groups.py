"""The consumer groups of a run, numbered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.errors import PlanError

if TYPE_CHECKING:
    from krt_contract.plan import Plan

MAX_GROUPS = 16
"""As many consumers as a resource may have. A record keeps two bits for each group."""


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group.

    Attributes:
        index: its number in the tables, 0 upwards by name.
        committed_only: whether its members read with read_committed.
        commits: the commit modes of its consumers.
        topics: what it subscribes.
        static: whether all its members are static: one that is back within the session timeout
            takes its partitions again.
    """

    index: int
    name: str
    committed_only: bool
    commits: frozenset[str]
    topics: frozenset[str]
    static: bool = False

    @property
    def transactional(self) -> bool:
        """Whether its members commit offsets in the transaction of what they made of the records.

        Then only deliveries of committed transactions count.
        """
        return "Transactional" in self.commits


def groups_of(run: Plan) -> tuple[Group, ...]:
    """Return the run's consumer groups, by name.

    Raises:
        PlanError: more groups than can be distinguished.
    """
    found = []
    names = sorted({consumer.group for consumer in run.consumers})
    if len(names) > MAX_GROUPS:
        raise PlanError(f"{len(names)} groups; at most {MAX_GROUPS} can be scored at once")
    for index, name in enumerate(names):
        members = [consumer for consumer in run.consumers if consumer.group == name]
        found.append(
            Group(
                index=index,
                name=name,
                committed_only=any(item.isolation == "read_committed" for item in members),
                commits=frozenset(item.commit for item in members),
                topics=frozenset(topic for item in members for topic in item.topics),
                static=all(item.static_membership for item in members),
            )
        )
    return tuple(found)
