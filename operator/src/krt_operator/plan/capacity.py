"""Whether the cluster can carry one more test now; if not, the test waits in phase Pending.

A test that is started all the same would not be measured well, nor would those that run: all of
them would end Inconclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.nodes import describe_pressures
from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.engine.views import ObjectView
from krt_operator.errors import UserError
from krt_operator.health.traffic_flow import SLOW
from krt_operator.plan.placement import assign, nodes_by_zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krt_operator.api.spec import Spec
    from krt_operator.engine.views import Json

PRESSURE: Final = "NodesUnderPressure"
"""Reason of Provisioned while a test waits for nodes that lack memory, disk or process ids."""

OTHER_TEST_SLOW: Final = "OtherTestSlow"
"""Reason of Provisioned while a test waits because another one measures slow writes."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a test waits: a reason of the condition Provisioned, and its message."""

    reason: str
    message: str


def slow_test(tests: Iterable[Json], uid: str) -> Hold | None:
    """Return the hold by another test whose writes are too slow to begin its warm-up.

    That is this cluster's own measurement of what it carries. It lasts no longer than that test's
    spec.timeouts.warmup.

    Args:
        tests: every test that the controller watches.
        uid: of the test that wants to start.
    """
    for view in map(ObjectView, tests):
        waits = view.condition(ConditionType.TRAFFIC_ESTABLISHED, ConditionStatus.FALSE)
        slow = waits is not None and waits.reason == SLOW
        if slow and view.phase == Phase.WARMUP and view.uid != uid:
            return Hold(
                OTHER_TEST_SLOW,
                f"test {view.name} in namespace {view.raw['metadata']['namespace']} measures slow "
                f"writes ({SLOW}), so the cluster is too busy for one more; this test starts when "
                "they are faster; lower the chart value maxConcurrentTests, or end other work on "
                "the nodes",
            )
    return None


def strained_nodes(nodes: Sequence[Json], spec: Spec) -> Hold | None:
    """Return the hold by nodes under pressure, if the members fit only with these.

    A test that does not fit with them either is not held: it is refused.

    Args:
        nodes: as the API server lists them.
        spec: of the test, which deploys its own members.
    """
    strained = describe_pressures(nodes)
    if not strained or _fits(nodes, spec) or not _fits(nodes, spec, relieved=True):
        return None
    return Hold(
        PRESSURE,
        f"the members do not fit without nodes under pressure: {strained}; this test starts when "
        "the nodes are relieved; free memory or disk there, or add nodes",
    )


def _fits(nodes: Sequence[Json], spec: Spec, *, relieved: bool = False) -> bool:
    try:
        assign(spec, nodes_by_zone(nodes, spec, relieved=relieved))
    except UserError:
        return False
    return True
