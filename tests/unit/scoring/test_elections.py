"""Whose storage counts as lost when a leader is elected."""

from __future__ import annotations

import pytest

from krt_contract.timeline import Event
from krt_scoring.history.elections import Electorate, elections


def state(at: int, leader: int, epoch: int, *isr: int) -> Event:
    detail = {"leader": leader, "leader_epoch": epoch, "isr": list(isr), "version": at}
    return Event(at, at, "partition", "state", "foo-0", detail)


def lost(at: int, broker: int, action: str = "LoseDisk") -> Event:
    detail = {"action": action, "targets": [{"member": f"kafka-{broker}"}]}
    return Event(at, at, "fault", "injected", "disk", detail)


BEGIN = state(0, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("events", "storage_lost"),
    [
        # The other replica leads, as it held everything.
        ((lost(5, 0), state(10, 1, 1, 1)), [False]),
        # It comes back empty, is filled by the leader, and leads again.
        (
            (lost(5, 0), state(10, 1, 1, 1), state(20, 1, 1, 0, 1), state(30, 0, 2, 0, 1)),
            [False, False],
        ),
        # It leads before anybody has filled it.
        ((lost(5, 0), state(10, 1, 1, 1), state(20, 0, 2, 0)), [False, True]),
        # Filled once, lost once more.
        (
            (
                lost(5, 0),
                state(10, 1, 1, 1),
                state(20, 1, 1, 0, 1),
                lost(25, 0),
                state(30, 0, 2, 0, 1),
            ),
            [False, True],
        ),
        # Alone in the ISR, nobody can fill it.
        ((state(2, 0, 0, 0), lost(5, 0), state(10, -1, 1, 0), state(20, 0, 2, 0)), [True]),
        ((lost(5, 0), lost(6, 1), state(10, 1, 1, 1)), [True]),
        ((lost(5, 0, "CrashPod"), state(10, 1, 1, 1), state(20, 0, 2, 0)), [False, False]),
    ],
)
def test_elections_storage_filled_again_is_not_lost(
    events: tuple[Event, ...], storage_lost: list[bool]
) -> None:
    found = elections((BEGIN, *events))
    assert [election.storage_lost for election in found] == storage_lost


def kraft(  # noqa: PLR0913, PLR0917 (the fields of a state)
    at: int,
    leader: int,
    epoch: int,
    isr: list[int],
    elr: list[int] | None = None,
    last: list[int] | None = None,
    *,
    recovering: bool = False,
) -> Event:
    detail = {
        "leader": leader,
        "leader_epoch": epoch,
        "isr": isr,
        "version": at,
        "elr": elr or [],
        "last_known_elr": last or [],
        "recovering": recovering,
    }
    return Event(at, 0, "partition", "state", "foo-0", detail)


@pytest.mark.parametrize(
    ("events", "electorate"),
    [
        # From the ISR.
        ((kraft(0, 0, 0, [0, 1]), kraft(5, 1, 1, [1])), Electorate.ISR),
        # A member of the ELR came back after SIGTERM: it has all that is committed.
        (
            (kraft(0, 0, 0, [0], [1, 2]), kraft(3, -1, 1, [], [0, 1]), kraft(5, 1, 2, [1], [0])),
            Electorate.ELR,
        ),
        # All were killed: who returns leaves the ELR, and the last known leader is elected.
        (
            (
                kraft(0, 0, 0, [0, 1]),
                kraft(3, -1, 1, [], [], [0]),
                kraft(5, 0, 2, [0], recovering=True),
            ),
            Electorate.LAST_KNOWN_LEADER,
        ),
        # The record that elects it is also the one that empties the ELR.
        (
            (
                kraft(0, 0, 0, [0]),
                kraft(3, -1, 1, [], [0], [0]),
                kraft(5, 0, 2, [0], recovering=True),
            ),
            Electorate.LAST_KNOWN_LEADER,
        ),
        # Unclean election: the first broker back leads at once.
        (
            (kraft(0, 0, 0, [0], [1]), kraft(5, 2, 1, [2], recovering=True)),
            Electorate.OUTSIDE,
        ),
        # Not confirmed since its own election, and then elected again from the ISR it is alone in.
        (
            (
                kraft(0, 0, 0, [0]),
                kraft(3, -1, 1, [0], recovering=True),
                kraft(5, 0, 2, [0], recovering=True),
            ),
            Electorate.ISR,
        ),
    ],
)
def test_elections_of_kraft_leader_comes_from_isr_elr_or_outside(
    events: tuple[Event, ...], electorate: Electorate
) -> None:
    assert elections(events)[-1].electorate is electorate


def test_elections_with_an_empty_isr_lost_no_storage_of_its_members() -> None:
    """Every member of no set has lost its disk: that must permit nothing."""
    events = (
        kraft(0, 0, 0, [0, 1]),
        kraft(3, -1, 1, [], [], [0]),
        kraft(5, 0, 2, [0], recovering=True),
    )
    assert [election.storage_lost for election in elections(events)] == [False]


@pytest.mark.parametrize(
    ("disks", "storage_lost"), [((0,), False), ((0, 1), True), ((0, 1, 2), True)]
)
def test_elections_storage_is_lost_where_isr_and_elr_lost_theirs(
    disks: tuple[int, ...], storage_lost: bool
) -> None:
    losses = [lost(4, broker) for broker in disks]
    events = (
        kraft(0, 0, 0, [0], [1]),
        *losses,
        kraft(5, -1, 1, [], [], [2]),
        # Those that were eligible last count, though both sets are empty by now.
        kraft(6, 3, 2, [3], recovering=True),
    )
    assert [election.storage_lost for election in elections(events)] == [storage_lost]


def test_elections_leader_that_lost_its_disk_lost_storage_whoever_elected_it() -> None:
    events = (
        kraft(0, 0, 0, [0, 1]),
        lost(4, 0),
        kraft(5, -1, 1, [], [], [0]),
        kraft(6, 0, 2, [0], recovering=True),
    )
    assert [election.storage_lost for election in elections(events)] == [True]
