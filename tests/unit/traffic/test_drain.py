from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from confluent_kafka import TopicPartition

from krt_traffic.consumer.drain import Drain

ENDS = {("foo", 0): 7, ("foo", 1): 0, ("foo", 2): 5}


class Client:
    """Answers with the committed offsets of the group."""

    def __init__(self, committed: dict[tuple[str, int], int]) -> None:
        self._committed = committed

    def committed(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        assert timeout > 0
        found = []
        for item in partitions:
            offset = self._committed.get((item.topic, item.partition), -1001)
            found.append(TopicPartition(item.topic, item.partition, offset))
        return found


def drain(
    owned: dict[tuple[str, int], int],
    committed: dict[tuple[str, int], int],
    ends: dict[tuple[str, int], int] | None = None,
) -> Drain:
    client: Any = Client(committed)
    positions: Any = SimpleNamespace(positions=owned, clean=True)
    assignment: Any = SimpleNamespace(ends=ends or {})
    return Drain(client, positions, assignment, ENDS, 60.0)


def test_done_in_a_rebalance_tells_of_the_partitions_that_nobody_owns() -> None:
    tested = drain({}, ENDS)
    assert tested.done()
    assert tested.reached() == ENDS


def test_done_tells_of_partitions_of_other_members_too() -> None:
    tested = drain({("foo", 0): 7}, ENDS)
    assert tested.done()
    assert tested.reached() == ENDS


def test_done_waits_for_the_group_and_for_the_own_partitions() -> None:
    assert not drain({("foo", 0): 7}, ENDS | {("foo", 2): 4}).done()
    assert not drain({("foo", 0): 6}, ENDS).done()


def test_position_beyond_a_marker_is_the_end_the_client_reported() -> None:
    tested = drain({("foo", 0): 6}, ENDS, ends={("foo", 0): 7})
    assert tested.done()
    assert tested.reached() == ENDS
