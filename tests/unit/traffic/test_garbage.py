from __future__ import annotations

import gc
from collections import deque
from typing import TYPE_CHECKING

import pytest

from krt_traffic.backlog import MOST_BYTES
from krt_traffic.garbage import spare_traffic
from krt_traffic.sending.records import ROW_BYTES
from krt_traffic.sending.sender import UNLIMITED_IN_FLIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def collections() -> int:
    return sum(int(generation["collections"]) for generation in gc.get_stats())


class Ring:
    """Garbage that only the collector frees."""

    alive = 0

    def __init__(self) -> None:
        self.itself = self
        Ring.alive += 1

    def __del__(self) -> None:
        Ring.alive -= 1


def test_spare_traffic_walks_no_rows_that_wait_for_a_flush() -> None:
    spare_traffic()
    before = collections()
    waiting: deque[tuple[int, list[int]]] = deque()
    for seq in range(MOST_BYTES // ROW_BYTES + UNLIMITED_IN_FLIGHT):
        waiting.append((seq, [seq]))
    assert collections() == before


def test_spare_traffic_still_collects_what_piles_up() -> None:
    spare_traffic()
    most = 0
    for _ in range(300_000):
        Ring()
        most = max(most, Ring.alive)
    assert most < 250_000
