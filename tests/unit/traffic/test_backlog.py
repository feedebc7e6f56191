from __future__ import annotations

from krt_traffic.backlog import FLUSH_BYTES, MOST_BYTES, Backlog
from krt_traffic.ledger_thread import LedgerThread


def waiting_of(*sizes: int) -> tuple[LedgerThread, list[bool], list[int]]:
    """Return a ledger that has not begun, and what was asked for at each size."""
    ledger = LedgerThread(lambda: None)
    current = [0]
    backlog = Backlog(ledger, lambda: current[0])
    stopped, requested = [], []
    for size in sizes:
        current[0] = size
        before = ledger.request()
        stopped.append(backlog.relieve())
        requested.append(ledger.request() - before - 1)
    return ledger, stopped, requested


def test_relieve_of_few_rows_requests_nothing() -> None:
    _, stopped, requested = waiting_of(0, FLUSH_BYTES - 1)
    assert (stopped, requested) == ([False, False], [0, 0])


def test_relieve_of_many_rows_requests_one_flush_until_it_is_done() -> None:
    _, stopped, requested = waiting_of(FLUSH_BYTES, FLUSH_BYTES, FLUSH_BYTES)
    assert (stopped, requested) == ([False] * 3, [1, 0, 0])


def test_relieve_of_the_most_rows_stops_the_traffic() -> None:
    _, stopped, _ = waiting_of(MOST_BYTES - 1, MOST_BYTES, 0)
    assert stopped == [False, True, False]


def test_relieve_again_after_the_flush_requests_the_next() -> None:
    flushes: list[int] = []
    ledger = LedgerThread(lambda: flushes.append(1))
    backlog = Backlog(ledger, lambda: FLUSH_BYTES)
    ledger.start()
    for _ in range(2):
        backlog.relieve()
        ledger.settle()
    ledger.stop()
    assert len(flushes) > 2
