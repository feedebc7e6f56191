"""Inconclusive reasons beyond the cap of the status: counted, and never the first of a code."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from krt_operator.api.status import MAX_INCONCLUSIVE_REASONS, InconclusiveReasonKind, Status
from krt_operator.engine import journal
from krt_operator.engine.reasons import OMITTED

AT = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
COVERAGE, EVIDENCE = InconclusiveReasonKind.COVERAGE, InconclusiveReasonKind.EVIDENCE


def add(
    status: Status,
    code: str,
    message: str,
    kind: InconclusiveReasonKind = COVERAGE,
    minute: int = 0,
) -> Status:
    at = AT + timedelta(minutes=minute)
    return journal.add_inconclusive_reason(code, kind, message, at)(status)


def full(number: int = 200) -> Status:
    status = Status()
    for pod in range(number):
        status = add(status, "TrafficPodLost", f"pod {pod}", minute=pod)
    return status


def test_add_reason_beyond_the_cap_is_counted_in_the_last_entry() -> None:
    status = full()
    kept = [one for one in status.inconclusive_reasons if one.code != OMITTED]
    last = status.inconclusive_reasons[-1]
    assert len(status.inconclusive_reasons) <= MAX_INCONCLUSIVE_REASONS
    assert (last.code, last.kind) == (OMITTED, COVERAGE)
    assert f"at least {200 - len(kept)} more reasons" in last.message
    assert f"TrafficPodLost {200 - len(kept)}" in last.message
    assert last.at == AT + timedelta(minutes=len(kept))
    assert Status.model_validate(status.dump()) == status


def test_add_reason_omitted_before_is_counted_once() -> None:
    status = full()
    assert add(status, "TrafficPodLost", "pod 199", minute=500) == status
    assert journal.is_known_reason(status, "TrafficPodLost", "pod 199")
    assert journal.is_known_reason(status, "TrafficPodLost", "pod 0")
    assert not journal.is_known_reason(status, "TrafficPodLost", "pod 200")


def test_add_reason_of_new_code_is_kept_although_the_list_is_full() -> None:
    status = add(full(), "NotDrained", "consumers not at the end", EVIDENCE)
    assert journal.has_inconclusive_reason(status, "NotDrained")
    assert status.inconclusive_reasons[-1].code == OMITTED
    assert status.inconclusive_reasons[-2].code == "NotDrained"


def test_add_reason_omitted_of_kind_evidence_makes_the_last_entry_evidence() -> None:
    status = add(full(), "NotDrained", "first", EVIDENCE)
    status = add(status, "NotDrained", "second", EVIDENCE)
    assert (status.inconclusive_reasons[-1].code, status.inconclusive_reasons[-1].kind) == (
        OMITTED,
        EVIDENCE,
    )
    assert "NotDrained 1" in status.inconclusive_reasons[-1].message


@pytest.mark.parametrize("number", [1, 47, 48])
def test_add_reasons_within_the_cap_are_all_kept(number: int) -> None:
    status = full(min(number, 47))
    assert len(status.inconclusive_reasons) == min(number, 47)
    assert not status.omitted_reasons


def test_add_reasons_without_end_stays_within_the_bounds_of_the_status() -> None:
    status = full(1000)
    assert "at least 256 more reasons" in status.inconclusive_reasons[-1].message
