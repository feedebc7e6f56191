"""Who leads the quorum of the KRaft controllers, and who does not follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.doubles.plans import sample_plan

from krt_contract.kafka_login import PLAINTEXT, Login
from krt_operator.errors import TransientError
from krt_operator.health.quorum import missing_voter, read_quorum, with_quorum
from krt_operator.kafka.views import NO_BROKER, ClusterView, Quorum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.api.plan import Plan

PLAN = sample_plan(manifest="sample-kraft.yaml")
ALL = frozenset({100, 101, 102})
VIEW = ClusterView(brokers=(), controller=2, partitions=())


class Controllers:
    """The port: ordinal to what that controller answers; the others do not answer."""

    def __init__(self, answers: Mapping[int, Quorum | None]) -> None:
        self.answers = answers
        self.asked: list[int] = []

    def login(self, _plan: Plan) -> Login:
        return PLAINTEXT

    def describe_quorum(self, address: str, _login: Login) -> Quorum | None:
        (ordinal,) = (each.ordinal for each in PLAN.controllers if each.address == address)
        self.asked.append(ordinal)
        if ordinal not in self.answers:
            raise TransientError("refused")
        return self.answers[ordinal]


def ports(answers: Mapping[int, Quorum | None]) -> Any:
    return Controllers(answers)


@pytest.mark.parametrize(
    ("answers", "leader"),
    [
        ({0: None, 1: Quorum(101, 3, ALL), 2: None}, 101),
        ({1: Quorum(101, 3, ALL)}, 101),
        # The first one was frozen, and has not heard of its successor.
        ({0: Quorum(100, 2, ALL), 1: None, 2: Quorum(102, 4, ALL)}, 102),
        ({0: None, 1: None, 2: None}, NO_BROKER),
        ({}, NO_BROKER),
    ],
)
def test_with_quorum_takes_the_leader_of_the_newest_epoch(
    answers: Mapping[int, Quorum | None], leader: int
) -> None:
    view = with_quorum(VIEW, PLAN, ports(answers))
    assert view.controller == leader
    assert (view.quorum is None) is (leader == NO_BROKER)


def test_read_quorum_does_not_ask_unavailable_controllers() -> None:
    asked = ports({2: Quorum(102, 1, ALL)})
    assert read_quorum(PLAN, asked, frozenset({"controller-0", "kafka-1"})) is not None
    assert asked.asked == [1, 2]


def test_with_quorum_in_zookeeper_mode_asks_nobody() -> None:
    asked = ports({})
    assert with_quorum(VIEW, sample_plan(), asked) is VIEW
    assert asked.asked == []


@pytest.mark.parametrize(
    ("in_sync", "down", "missing"),
    [
        (ALL, frozenset(), ""),
        ({100, 102}, frozenset(), "controller-1 does not follow the quorum's leader"),
        ({100, 102}, frozenset({"controller-1"}), ""),
    ],
)
def test_missing_voter_names_the_controller_that_does_not_follow(
    in_sync: set[int], down: frozenset[str], missing: str
) -> None:
    view = replace(VIEW, quorum=Quorum(100, 1, frozenset(in_sync)))
    assert missing_voter(PLAN, view, down) == missing


def test_missing_voter_without_quorum_names_nobody() -> None:
    assert missing_voter(sample_plan(), VIEW, frozenset()) == ""
