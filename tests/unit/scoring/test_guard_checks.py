"""The self-test of the guards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.unit.scoring.builders import (
    LOG_END,
    guard_inputs,
    without,
)

from krt_scoring.selftest import guard_checks
from krt_scoring.verdict.guards import registry
from krt_scoring.verdict.guards.registry import GUARDS

if TYPE_CHECKING:
    import pytest


def test_guard_checks_of_a_clean_run_are_all_detected() -> None:
    results, inapplicable = guard_checks.run(guard_inputs())
    assert [item.as_dict() for item in results if not item.detected] == []
    assert {item.name for item in results} == {kind.name for kind in guard_checks.KINDS}
    assert inapplicable == {}


def test_guard_checks_without_a_guard_miss_its_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {name: check for name, check in GUARDS.items() if name != "traffic_pod_lost"}
    monkeypatch.setattr(registry, "GUARDS", left)
    results, _ = guard_checks.run(guard_inputs())
    assert [item.name for item in results if not item.detected] == ["vanished-pod"]


def test_guard_checks_skip_reasons_already_given() -> None:
    unsettled = replace(LOG_END, settled=False)
    _, inapplicable = guard_checks.run(
        guard_inputs(without(("recorder", "stopped")), log_ends=(unsettled,))
    )
    assert set(inapplicable) == {"unsettled-log", "unread-log", "unrecorded-end"}
