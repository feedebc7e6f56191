from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_operator.kafka.assignment import AssignmentError, alternate_racks, spread

THREE = {0: "zone-a", 1: "zone-b", 2: "zone-c"}


def test_spread_three_racks_has_a_replica_and_a_leader_in_each() -> None:
    assert spread(THREE, 3, 3) == {0: [0, 1, 2], 1: [1, 2, 0], 2: [2, 0, 1]}


def test_alternate_racks_neighbours_are_in_different_racks() -> None:
    assert alternate_racks({0: "a", 1: "a", 2: "b", 3: "b", 4: "c"}) == [0, 2, 4, 1, 3]


def test_spread_start_moves_the_first_leader() -> None:
    assert spread(THREE, 1, 2, start=1) == {0: [1, 2]}


@pytest.mark.parametrize(("partitions", "factor"), [(1, 4), (0, 1), (1, 0)])
def test_spread_too_few_brokers_or_a_zero_count_is_refused(partitions: int, factor: int) -> None:
    with pytest.raises(AssignmentError):
        spread(THREE, partitions, factor)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[int, str], int, int, int]:
    zones = draw(st.integers(1, 5))
    brokers = draw(st.integers(1, 10))
    racks = {broker: f"zone-{broker % zones}" for broker in range(brokers)}
    return (
        racks,
        draw(st.integers(1, 40)),
        draw(st.integers(1, brokers)),
        draw(st.integers(0, 9)),
    )


@given(clusters())
def test_spread_any_cluster_is_balanced_over_racks_and_leaders(
    cluster: tuple[dict[int, str], int, int, int],
) -> None:
    racks, partitions, factor, start = cluster
    assignment = spread(racks, partitions, factor, start)
    names = set(racks.values())
    assert sorted(assignment) == list(range(partitions))
    for replicas in assignment.values():
        assert len(set(replicas)) == factor
        uses = Counter(racks[broker] for broker in replicas)
        assert len(uses) == min(factor, len(names))
    leaders = Counter(replicas[0] for replicas in assignment.values())
    counts = [leaders[broker] for broker in racks]
    assert max(counts) - min(counts) <= 1
    assert assignment == spread(racks, partitions, factor, start)
