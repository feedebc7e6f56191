"""The self-test of the guards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.unit.scoring.builders import (
    LOG_END,
    RUN,
    guard_inputs,
    without,
)

from krt_scoring.selftest import guard_checks
from krt_scoring.verdict.guards import registry
from krt_scoring.verdict.guards.registry import GUARDS

if TYPE_CHECKING:
    import pytest

    from krt_scoring.verdict.guards.registry import GuardInputs

BEGIN = 40
"""Where the run begins in a topic that was there before."""


def adopted() -> GuardInputs:
    """A clean run on a topic with records from before it."""
    (foo, *others) = RUN.topics
    run = replace(RUN, topics=(replace(foo, begin={0: BEGIN}), *others))
    end = replace(LOG_END, log_start=BEGIN, read_from=BEGIN, read_to=90, high_watermark=90)
    return guard_inputs(run=run, log_ends=(end,))


def test_guard_checks_of_a_clean_run_are_all_detected() -> None:
    results, inapplicable = guard_checks.run(adopted())
    assert [item.as_dict() for item in results if not item.detected] == []
    assert {item.name for item in results} == {kind.name for kind in guard_checks.KINDS}
    assert inapplicable == {}


def test_guard_checks_of_a_run_on_topics_of_its_own_cut_no_log() -> None:
    _, inapplicable = guard_checks.run(guard_inputs())
    assert inapplicable == {"cut-log": "a topic with records from before the run"}


def test_guard_checks_without_a_guard_miss_its_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {name: check for name, check in GUARDS.items() if name != "traffic_pod_lost"}
    monkeypatch.setattr(registry, "GUARDS", left)
    results, _ = guard_checks.run(guard_inputs())
    assert [item.name for item in results if not item.detected] == ["vanished-pod"]


def test_guard_checks_without_the_one_of_cut_logs_miss_a_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = {name: check for name, check in GUARDS.items() if name != "cut_below_begin"}
    monkeypatch.setattr(registry, "GUARDS", left)
    results, _ = guard_checks.run(adopted())
    assert [item.name for item in results if not item.detected] == ["cut-log"]


def test_guard_checks_skip_reasons_already_given() -> None:
    unsettled = replace(LOG_END, settled=False)
    _, inapplicable = guard_checks.run(
        guard_inputs(without(("recorder", "stopped")), log_ends=(unsettled,))
    )
    expected = {"unsettled-log", "unread-log", "cut-log", "unrecorded-end"}
    assert set(inapplicable) == expected
