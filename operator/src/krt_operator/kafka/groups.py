"""Consumer groups, by requests of our own to their coordinators.

librdkafka is not asked. Where a coordinator dies while its admin client waits for an answer, the
client may not end any more, or may abort the process (both seen with 2.16.0; its issue 4605), and
faults kill coordinators. Here a request is one exchange on one connection, with a timeout.

Each message is of the oldest version that says what is needed; every broker from Kafka 2.3 on has
it.
"""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaError, KafkaException
from kafka.protocol.admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetFetchRequest, OffsetFetchResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

from krt_contract.kafka_connection import MALFORMED
from krt_operator.errors import TransientError
from krt_operator.kafka.errors import Need, translate
from krt_operator.kafka.views import GroupMember, GroupView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krt_contract.kafka_connection import Connection
    from krt_contract.kafka_connector import Connect

SCHEMAS: Final = "krt_operator.kafka.schemas"


class ConsumerGroupDescribeRequest(ApiMessage, load_json=SCHEMAS):  # type: ignore[call-arg, misc]  # untyped
    """Asks for groups with the protocol of KIP-848, which DescribeGroups does not know."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=SCHEMAS):  # type: ignore[call-arg, misc]  # untyped
    """Has such groups with their members."""


VERSIONS: Final[Mapping[type[ApiMessage], int]] = {
    ApiVersionsRequest: 0,
    FindCoordinatorRequest: 1,
    # From this version on it also says what the user may do with the group.
    DescribeGroupsRequest: 3,
    ConsumerGroupDescribeRequest: 0,
    # From this version on it can ask for every partition; one more has the leader's epoch.
    OffsetFetchRequest: 5,
    DeleteGroupsRequest: 1,
}

GROUP: Final = 0
"""Type of a coordinator's key: a group, and not a transaction."""

DEAD: Final = "Dead"
"""State of a group that the coordinator does not know, also of one with another protocol."""

OPERATIONS: Final = 31
"""Bits of a signed number that may each be an operation."""

NO_OPERATIONS: Final = -(2**31)
"""In place of the operations that a user is allowed, where the broker does not say them."""


@dataclass(frozen=True, slots=True)
class _Described:
    """A group as its coordinator describes it, without its commits."""

    state: str
    members: tuple[GroupMember, ...]
    operations: frozenset[int] | None


@dataclass(frozen=True)
class Coordinators:
    """The coordinators of a cluster's groups.

    Every method raises TransientError where no broker or coordinator answers, and otherwise the
    errors of `translate`.

    Attributes:
        brokers: `host:port` of brokers, in the order in which they are asked who coordinates.
        connect: connects to one of them and logs in.
        deadline: monotonic time after which no other broker is asked. Frozen ones take the timeout
            of a connection each.
    """

    brokers: Sequence[str]
    connect: Connect
    deadline: float

    def describe(self, group: str) -> GroupView:
        """Return a group's state, coordinator, members and committed offsets."""
        doing, need = f"describing group {group}", Need("Describe", f"Group {group}")
        with self._coordinator(group, doing, need) as (node, connection):
            described = _describe(connection, group, doing, need)
            committed = _commits(connection, group, need)
        return GroupView(group, described.state, node, described.members, committed)

    def operations(self, group: str) -> frozenset[int] | None:
        """Return Kafka's numbers of what the user may do with a group; None where none is said."""
        doing, need = f"describing group {group}", Need("Describe", f"Group {group}")
        with self._coordinator(group, doing, need) as (_, connection):
            return _describe(connection, group, doing, need).operations

    def delete(self, group: str) -> None:
        """Delete a group, which has no members; one that does not exist is passed over."""
        doing, need = f"deleting group {group}", Need("Delete", f"Group {group}")
        with self._coordinator(group, doing, need) as (_, connection):
            request = DeleteGroupsRequest(groups_names=[group])
            answer = _ask(connection, request, DeleteGroupsResponse)
            for result in answer.results:
                if result.error_code != KafkaError.GROUP_ID_NOT_FOUND:
                    _check(result.error_code, doing, need, "spec.traffic.consumers")

    @contextmanager
    def _coordinator(self, group: str, doing: str, need: Need) -> Iterator[tuple[int, Connection]]:
        """Connect to the coordinator of a group; yield its id and the connection."""
        node, address = self._find(group, doing, need)
        try:
            with closing(self.connect(address)) as connection:
                yield node, connection
        except OSError as error:
            raise TransientError(
                f"{doing}: its coordinator {address} did not answer: {error}"
            ) from error
        except MALFORMED as error:
            raise TransientError(
                f"{doing}: its coordinator {address} answered something else: {error}"
            ) from error

    def _find(self, group: str, doing: str, need: Need) -> tuple[int, str]:
        """Return the id and the address of the coordinator, as the first broker that answers."""
        problem = "there was no time left to ask who coordinates it"
        for address in self.brokers:
            if time.monotonic() > self.deadline:
                break
            try:
                with closing(self.connect(address)) as connection:
                    request = FindCoordinatorRequest(key=group, key_type=GROUP)
                    found = _ask(connection, request, FindCoordinatorResponse)
            except (OSError, *MALFORMED) as error:
                problem = f"broker {address} did not answer: {error}"
                continue
            _check(found.error_code, doing, need)
            return found.node_id, f"{found.host}:{found.port}"
        raise TransientError(f"{doing}: {problem}")


def _describe(connection: Connection, group: str, doing: str, need: Need) -> _Described:
    request = DescribeGroupsRequest(groups=[group], include_authorized_operations=True)
    (found,) = _ask(connection, request, DescribeGroupsResponse).groups
    _check(found.error_code, doing, need)
    classic = _Described(
        found.group_state,
        tuple(_member(item, _assigned(item.member_assignment)) for item in found.members),
        _operations(found.authorized_operations),
    )
    if classic.state != DEAD or not _has(connection, ConsumerGroupDescribeRequest):
        return classic
    return _describe_consumers(connection, group, doing, need) or classic


def _describe_consumers(
    connection: Connection, group: str, doing: str, need: Need
) -> _Described | None:
    """Describe a group with the protocol of KIP-848; None where there is none of that name."""
    request = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    (found,) = _ask(connection, request, ConsumerGroupDescribeResponse).groups
    # A broker may have the request and not the protocol.
    if found.error_code in {KafkaError.GROUP_ID_NOT_FOUND, KafkaError.UNSUPPORTED_VERSION}:
        return None
    _check(found.error_code, doing, need)
    return _Described(
        found.group_state,
        tuple(_member(item, _owned(item.assignment)) for item in found.members),
        _operations(found.authorized_operations),
    )


def _has(connection: Connection, request: type[ApiMessage]) -> bool:
    """Whether a broker knows a request; one that it does not know would end the connection."""
    known = _ask(connection, ApiVersionsRequest(), ApiVersionsResponse).api_keys
    return any(item.api_key == request.API_KEY for item in known)


def _commits(connection: Connection, group: str, need: Need) -> dict[tuple[str, int], int]:
    doing = f"reading offsets of group {group}"
    # No topics: those of every partition.
    request = OffsetFetchRequest(group_id=group, topics=None)
    answer = _ask(connection, request, OffsetFetchResponse)
    _check(answer.error_code, doing, need)
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in answer.topics
        for partition in topic.partitions
        if not partition.error_code and partition.committed_offset >= 0
    }


def _ask(connection: Connection, request: ApiMessage, response: type[ApiMessage]) -> Any:
    return connection.send(request, response, VERSIONS[type(request)])


def _check(code: int, doing: str, need: Need, field: str = "spec.kafka") -> None:
    """Raise what an error code of an answer means."""
    if code:
        error = KafkaError(code)
        raise translate(error, doing, field, need) from KafkaException(error)


def _assigned(encoded: bytes) -> Iterable[tuple[str, Sequence[int]]]:
    """Return topics and partitions of a member, which has none while its group rebalances."""
    if not encoded:
        return ()
    decoded = ConsumerProtocolAssignment.decode(bytes(encoded))
    return [(own.topic, own.partitions) for own in decoded.assigned_partitions]


def _owned(assignment: Any) -> Iterable[tuple[str, Sequence[int]]]:
    """Return topics and partitions of a member with the protocol of KIP-848."""
    return [(own.topic_name, own.partitions) for own in assignment.topic_partitions]


def _member(found: Any, assigned: Iterable[tuple[str, Sequence[int]]]) -> GroupMember:
    """Return a member of a described group."""
    return GroupMember(
        member_id=found.member_id,
        client_id=found.client_id,
        host=found.client_host.lstrip("/"),
        partitions=tuple(
            sorted((topic, number) for topic, numbers in assigned for number in numbers)
        ),
    )


def _operations(found: Any) -> frozenset[int] | None:
    """Return the numbers of operations, which kafka-python decodes of its own messages alone."""
    if found is None or found == NO_OPERATIONS:
        return None
    if isinstance(found, int):
        return frozenset(number for number in range(OPERATIONS) if found >> number & 1)
    return frozenset(found)
