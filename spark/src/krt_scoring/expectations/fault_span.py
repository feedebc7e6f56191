"""The time that the expectations of one fault are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_scoring.inputs.fault_windows import FaultWindow

REVERTED = "Reverted"
"""Value of ``until``: the expectations are about the time while the fault was active only."""


@dataclass(frozen=True, slots=True)
class FaultSpan:
    """A fault that is known to have acted, and a time from its injection on.

    Attributes:
        fault: the fault.
        start: its injection, UTC µs.
        end: its recovery, or its revert where the expectations end there; UTC µs.
    """

    fault: FaultWindow
    start: int
    end: int

    @property
    def name(self) -> str:
        """Name of the fault."""
        return self.fault.name


def span_of(expect: Mapping[str, Any], fault: FaultWindow, run_end: int) -> FaultSpan:
    """Return the time that the expectations of a fault are about.

    Args:
        expect: an entry of ``spec.expect.faults``.
        fault: the fault that it names.
        run_end: when the run ended, UTC µs: for a fault that was never reverted or recovered.
    """
    until = fault.reverted_at if expect.get("until") == REVERTED else fault.recovered_at
    return FaultSpan(fault, fault.injected_at or 0, run_end if until is None else until)


def full_name(expect: Mapping[str, Any], expectation: str) -> str:
    """Return an expectation's name, which says so where it is about the active fault alone."""
    name = str(expect["name"])
    if expect.get("until") != REVERTED:
        return expectation
    return f"{name} while active{expectation.removeprefix(name)}"
