"""The quorum of the KRaft controllers: who leads it, and who does not follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from krt_operator.errors import TransientError
from krt_operator.kafka.views import NO_BROKER

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.engine.ports import Ports
    from krt_operator.kafka.views import ClusterView, Quorum


def read_quorum(
    plan: Plan, ports: Ports, unavailable: frozenset[str] = frozenset()
) -> Quorum | None:
    """The quorum as its leader describes it; None while no controller leads one.

    Args:
        plan: the run's members.
        ports: reaches the controllers.
        unavailable: members that open faults keep from answering, which are not asked.
    """
    login, found = ports.login(plan), []
    for controller in plan.controllers:
        if controller.member in unavailable:
            continue
        try:
            answer = ports.describe_quorum(controller.address, login)
        except TransientError:
            continue
        if answer is not None:
            found.append(answer)
    # A leader that was frozen takes itself for the leader until it hears of its successor.
    return max(found, key=lambda quorum: quorum.epoch, default=None)


def with_quorum(
    view: ClusterView, plan: Plan, ports: Ports, unavailable: frozenset[str] = frozenset()
) -> ClusterView:
    """The cluster's metadata with the quorum; unchanged where the test has no controllers.

    What brokers report as the controller is a random broker in KRaft mode.
    """
    if not plan.controllers:
        return view
    quorum = read_quorum(plan, ports, unavailable)
    return replace(view, controller=NO_BROKER if quorum is None else quorum.leader, quorum=quorum)


def missing_voter(plan: Plan, view: ClusterView, unavailable: frozenset[str]) -> str:
    """Which controller does not follow the quorum's leader, as a sentence; empty where all do."""
    if view.quorum is None:
        return ""
    for controller in plan.controllers:
        if controller.member not in unavailable and controller.node_id not in view.quorum.in_sync:
            return f"{controller.member} does not follow the quorum's leader"
    return ""
