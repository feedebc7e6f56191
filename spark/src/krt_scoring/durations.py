"""Durations as the report and messages show them."""

from __future__ import annotations

from krt_contract.durations import show

__all__ = ["show", "show_longest", "show_recovery"]


def show_longest(longest: int | None, detection_limit: int | None) -> str:
    """Return the longest gap for people: what was seen, or how long one could be unseen.

    Args:
        longest: the longest gap that was seen, µs; None where none was.
        detection_limit: shorter gaps cannot be seen, µs; None where it is not known.
    """
    if longest is None:
        if detection_limit is None:
            return "not measured"
        return f"none longer than {show(detection_limit)} (detection limit)"
    if detection_limit is None or detection_limit <= longest:
        return show(longest)
    return f"at least {show(longest)} (detection limit {show(detection_limit)})"


def show_recovery(duration: int | None) -> str:
    """Return a recovery for people.

    Args:
        duration: from the revert, µs; 0 where it was over before; None where no effect was seen.
    """
    if duration is None:
        return "no effect seen"
    return show(duration) if duration else "before the revert"
