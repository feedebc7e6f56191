"""How many groups a history may have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.selftest import histories

from krt_contract.plan import Plan
from krt_scoring.errors import PlanError
from krt_scoring.history.groups import MAX_GROUPS, groups_of

PLAN = Plan.from_document(histories.plan(1))


def plan(groups: int) -> Plan:
    """The plan with that many groups of one consumer."""
    names = [f"g{number:02}" for number in range(groups)]
    consumers = [{"name": name, "topics": [histories.TOPIC], "group": name} for name in names]
    return replace(PLAN, resolved_spec={"traffic": {"consumers": consumers}})


def test_groups_of_more_groups_than_a_record_has_bits_for_is_refused() -> None:
    most = groups_of(plan(MAX_GROUPS))
    assert [group.index for group in most] == list(range(MAX_GROUPS))
    with pytest.raises(PlanError, match=f"{MAX_GROUPS + 1} groups; at most {MAX_GROUPS}"):
        groups_of(plan(MAX_GROUPS + 1))
