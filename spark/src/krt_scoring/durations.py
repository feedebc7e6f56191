"""Durations as the report and messages show them."""

from __future__ import annotations

from krt_contract.durations import MICROS


def show(micros: int) -> str:
    """Return a duration for people: ``830 µs``, ``12.4 ms``, ``7.32 s``, ``2 m 05 s``."""
    sign = "-" if micros < 0 else ""
    size = abs(micros)
    if size < MICROS["ms"]:
        return f"{sign}{size} µs"
    if size < MICROS["s"]:
        return f"{sign}{size // 1_000}.{size % 1_000 // 100} ms"
    if size < 2 * MICROS["m"]:
        return f"{sign}{size // MICROS['s']}.{size % MICROS['s'] // 10_000:02d} s"
    return f"{sign}{size // MICROS['m']} m {size % MICROS['m'] // MICROS['s']:02d} s"
