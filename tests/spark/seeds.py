"""Tests over many seeds, of which the environment says how many and which."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def divide(
    metafunc: pytest.Metafunc,
    fixture: str,
    batch: int,
    *,
    first: tuple[str, int],
    count: tuple[str, int],
) -> None:
    """Have each test with a fixture run for ranges of at most ``batch`` seeds.

    Args:
        metafunc: of ``pytest_generate_tests``.
        fixture: name of what a test takes a range as.
        batch: seeds of one run, so that each ends within pytest's time limit.
        first: environment variable of the first seed, and what it is without.
        count: environment variable of how many there are, and what it is without.
    """
    if fixture not in metafunc.fixturenames:
        return
    start, number = (int(os.environ.get(name, default)) for name, default in (first, count))
    end = start + number
    runs = [range(seed, min(seed + batch, end)) for seed in range(start, end, batch)]
    metafunc.parametrize(fixture, runs, ids=lambda run: f"{run.start}-{run.stop - 1}")
