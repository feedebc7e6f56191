"""What a test is doing, and for how long yet, as far as its spec says. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from krt_cli.resource import Test, parse_time
from krt_contract.durations import Duration
from krt_contract.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

ACTIVE: Final = frozenset({"Injected", "Active"})
"""States of a fault that is not reverted yet."""


def describe_now(test: Test, now: datetime) -> str:
    """Return the phase, with the time that is left of what has a declared length."""
    phase = str(test.status.get("phase", "Pending"))
    parts = list(_warm_up(test, now)) if phase == "Warmup" else list(_faults(test, now))
    return f"{phase}: {', '.join(parts)}" if parts else phase


def _warm_up(test: Test, now: datetime) -> Iterator[str]:
    for condition in test.conditions:
        if condition["type"] == "TrafficEstablished" and condition["status"] == "True":
            left = _left(test.spec.get("warmup"), condition["lastTransitionTime"], now)
            if left:
                yield f"faults begin in {left}"


def _faults(test: Test, now: datetime) -> Iterator[str]:
    spec: dict[str, Any] = {fault["name"]: fault for fault in test.spec.get("faults") or ()}
    for fault in test.faults:
        if fault.state not in ACTIVE or not fault.body.get("injectedAt"):
            continue
        left = _left(spec.get(fault.name, {}).get("duration"), fault.body["injectedAt"], now)
        yield f"fault {fault.name} is active" + (f", reverted in {left}" if left else "")


def _left(duration: object, since: str, now: datetime) -> str:
    """Return the whole seconds left of a duration; empty where it is over or not declared."""
    try:
        end = parse_time(since) + Duration.parse(duration).delta
    except ContractError:
        return ""
    return f"{(end - now) // timedelta(seconds=1)} s" if end > now else ""
