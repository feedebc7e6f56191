"""Specs of a generator are refused with the field at fault, or run to a terminal phase.

A sample: `python -m tests.unit.operator.generated` plays 10 000.
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests.unit.operator.generated.outcomes import REFUSED, RUN, WrongError, outcome
from tests.unit.operator.generated.specs import Generated, generate

PARTS, SAMPLE = 4, 50


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_spec_is_refused_by_field_or_runs_to_its_end(part: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(part * SAMPLE, (part + 1) * SAMPLE):
        try:
            counts[outcome(generate(seed))] += 1
        except WrongError as error:
            pytest.fail(f"seed {seed}: {error}")
    assert min(counts[REFUSED], counts[RUN]) > 0


def test_mistake_that_is_accepted_is_found() -> None:
    """What the sample looks for is seen where it is."""
    with pytest.raises(WrongError, match="accepted in spite of topics"):
        outcome(Generated(generate(1).spec, mistake="topics"))
