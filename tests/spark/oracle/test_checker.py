"""The reference checker agrees with the cases, which people wrote and the scorer passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.anomalies.histories import load_cases
from tests.spark.oracle.checker import judge

if TYPE_CHECKING:
    from tests.spark.anomalies.language import Case


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_judge_of_a_case_finds_what_it_expects_and_nothing_else(case: Case) -> None:
    judgement = judge(case)
    assert judgement.findings == case.expected
    if case.judges_voids:
        assert judgement.void == case.void
    if case.outcomes is not None:
        assert judgement.outcomes == case.outcomes
