"""Parts of the plan that are read and written as they stand: topics, faults, imports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from krt_contract.durations import ZERO, Duration
from krt_contract.errors import ContractError
from krt_contract.faults import Action, AdminRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.fields import Fields


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_Named)


def find_entry(field_name: str, entries: tuple[_Entry, ...], name: str) -> _Entry:
    """Return the entry of ``spec.traffic`` of this name.

    Args:
        field_name: ``producers`` or ``consumers``, for the message.
        entries: what the plan has of them.
        name: the entry's name.

    Raises:
        ContractError: there is none.
    """
    for item in entries:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in entries) or "none"
    raise ContractError(f"spec.traffic.{field_name} has no entry {name!r}, only: {known}")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it was created, or as it was found.

    Attributes:
        assignment: partition → broker ids, preferred leader first; empty where it is unknown.
        begin: of a topic that was there before the test, partition → the first offset that is the
            test's. What lies below was written by others.
    """

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str] = field(default_factory=dict)
    assignment: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    begin: Mapping[int, int] = field(default_factory=dict)

    @property
    def adopted(self) -> bool:
        """Whether it was there before the test."""
        return bool(self.begin)

    @classmethod
    def read(cls, fields: Fields) -> Topic:
        """Read an entry of ``topics``."""
        assignment, begin = fields.child("assignment"), fields.child("begin")
        return cls(
            name=fields.word("name"),
            partitions=fields.integer("partitions"),
            replication_factor=fields.integer("replicationFactor"),
            config=fields.settings("config"),
            assignment={
                _partition(assignment, key): assignment.integers(key)
                for key in fields.document("assignment")
            },
            begin={_partition(begin, key): begin.integer(key) for key in fields.document("begin")},
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON holds it; ``begin`` only where the topic was there before the test."""
        document: dict[str, Any] = {
            "name": self.name,
            "partitions": self.partitions,
            "replicationFactor": self.replication_factor,
            "config": dict(self.config),
            "assignment": {str(key): list(ids) for key, ids in self.assignment.items()},
        }
        if self.begin:
            document["begin"] = {str(key): offset for key, offset in self.begin.items()}
        return document


@dataclass(frozen=True, slots=True)
class Fault:
    """What traffic and scoring need to know of one entry of ``spec.faults``.

    Attributes:
        duration: how long the target is held down or frozen.
        admin_requests: what the cluster is asked while the fault acts.
        target_replicas: brokers that Reassign gives each partition, preferred leader first.
    """

    name: str
    action: Action
    duration: Duration = ZERO
    admin_requests: tuple[AdminRequest, ...] = ()
    target_replicas: tuple[int, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Fault:
        """Read an entry of ``spec.faults``."""
        return cls(
            name=fields.word("name"),
            action=fields.choice("action", Action),
            duration=fields.duration("duration", default="0s"),
            admin_requests=fields.choices("adminRequests", AdminRequest),
            target_replicas=fields.integers("targetReplicas"),
        )


@dataclass(frozen=True, slots=True)
class Imported:
    """Of a history that another tool recorded: which tool, and what it cannot show.

    Attributes:
        source: name of the tool's importer.
        not_judged: anomalies that the history holds no evidence of.
        not_measured: figures that it holds no evidence of.
    """

    source: str
    not_judged: tuple[str, ...] = ()
    not_measured: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Imported:
        """Read ``imported`` of run.json."""
        return cls(fields.word("from"), fields.texts("notJudged"), fields.texts("notMeasured"))

    def to_document(self) -> dict[str, Any]:
        """Return it as run.json and the scorecard hold it."""
        return {
            "from": self.source,
            "notJudged": list(self.not_judged),
            "notMeasured": list(self.not_measured),
        }


def _partition(assignment: Fields, key: str) -> int:
    if not key.isdecimal():
        raise ContractError(f"{assignment.where(key)} is not a partition number")
    return int(key)
