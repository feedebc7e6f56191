"""A finished test goes when its time has gone by, and not before."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from krt_operator.app.expiry import expired

NOW = datetime(2026, 11, 21, 4, 0, 10, tzinfo=UTC)


def _test(ttl: int | None, phase: str = "Completed") -> Any:
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    status = {"phase": phase, "completionTime": "2026-11-21T04:00:00.000000Z"}
    return {"metadata": {"name": "t", "uid": "u"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("test", "goes"),
    [
        (_test(10), True),
        (_test(0), True),
        (_test(11), False),
        (_test(None), False),
        (_test(0, "CleaningUp"), False),
        ({"metadata": {"name": "t", "uid": "u"}, "spec": {"ttlSecondsAfterFinished": 0}}, False),
    ],
)
def test_expired_after_its_ttl_returns_the_deletion(test: Any, goes: bool) -> None:
    found = expired(test, NOW)
    assert (found is not None) is goes
    if found is not None:
        assert (found.name, found.uid) == ("t", "u")
