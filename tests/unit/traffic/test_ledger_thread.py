from __future__ import annotations

from krt_traffic.ledger_thread import LedgerThread


def test_settle_returns_when_everything_before_it_is_durable() -> None:
    flushed: list[int] = []
    coming = [1]
    thread = LedgerThread(lambda: flushed.extend(coming))
    thread.start()
    coming.append(2)
    thread.settle()
    assert 2 in flushed
    thread.stop()
