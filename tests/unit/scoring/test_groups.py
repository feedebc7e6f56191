"""How many groups a history may have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.selftest import histories

from krt_scoring.errors import PlanError
from krt_scoring.history.groups import MAX_GROUPS, groups_of
from krt_scoring.inputs import run_info

RUN = run_info.parse(histories.plan(1))


def test_groups_of_more_groups_than_a_record_has_bits_for_is_refused() -> None:
    many = [replace(RUN.consumers[0], group=f"g{number:02}") for number in range(MAX_GROUPS + 1)]
    most = groups_of(replace(RUN, consumers=tuple(many[1:])))
    assert [group.index for group in most] == list(range(MAX_GROUPS))
    with pytest.raises(PlanError, match=f"{MAX_GROUPS + 1} groups; at most {MAX_GROUPS}"):
        groups_of(replace(RUN, consumers=tuple(many)))
