"""A store that is gone, frozen, refusing or late: no row is lost, none is there twice."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from tests.contract.store.server import Proxy, Server, until

from krt_contract.fetch import fetch
from krt_contract.ledger import table_of
from krt_contract.object_layout import resolve
from krt_contract.sinks.store import StoreSink
from krt_traffic.ledger_thread import LedgerThread
from krt_traffic.rolling_writer import RollingWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

BUNDLE = "ns/test/uid"


def rows(*numbers: int) -> pa.Table:
    names = ("attempted", "acked", "failed", "unknown", "at")
    texts = {"producer": ["p"] * len(numbers), "producer_incarnation": ["u"] * len(numbers)}
    return table_of("producer_summary", texts | {name: list(numbers) for name in names})


class Traffic:
    """A ledger that gets a row whenever it is told to, and its flushes."""

    def __init__(self, sink: StoreSink) -> None:
        self._table = RollingWriter(sink.table("producer_summary", "p-u"))
        self._waiting: list[int] = []
        self._lock = threading.Lock()
        self.rows = 0
        self.thread = LedgerThread(self._flush)
        self.thread.start()

    def add(self, count: int) -> None:
        with self._lock:
            self._waiting.extend(range(self.rows, self.rows + count))
            self.rows += count

    def end(self) -> None:
        self.thread.stop()
        self._table.close(rows())

    def _flush(self) -> None:
        with self._lock:
            taken, self._waiting = self._waiting, []
        self._table.flush(rows(*taken), rows(10**9))


def stored(server: Server, folder: Path) -> list[int]:
    fetch(server.store(), BUNDLE, folder)
    files = sorted((folder / "producer_summary").glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file)["attempted"].to_pylist()]


@pytest.fixture
def silences() -> list[tuple[int, int]]:
    return []


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    started = Proxy(server.port)
    yield started
    started.close()


@pytest.fixture
def traffic(proxy: Proxy, server: Server, silences: list[tuple[int, int]]) -> Traffic:
    sink = StoreSink(server.store(proxy.port), BUNDLE, lambda *item: silences.append(item))
    found = Traffic(sink)
    found.add(100)
    found.thread.settle()
    return found


def test_rows_over_a_kill_of_the_store_are_all_there_once(
    server: Server, traffic: Traffic, silences: list[tuple[int, int]], tmp_path: Path
) -> None:
    server.kill()
    traffic.add(100)
    ticket = traffic.thread.request()
    until(lambda: not silences and traffic.thread.durable < ticket)
    traffic.add(100)
    server.start()
    traffic.thread.settle()
    traffic.end()
    assert stored(server, tmp_path / "copy") == list(range(300))
    assert len(silences) == 1
    assert silences[0][0] < silences[0][1]


def test_rows_over_a_frozen_store_are_all_there_once_although_a_put_lands_late(
    server: Server, traffic: Traffic, silences: list[tuple[int, int]], tmp_path: Path
) -> None:
    server.freeze()
    traffic.add(100)
    ticket = traffic.thread.request()
    # Longer than the client waits: what it gave up is in the store's socket, and lands after all.
    until(lambda: not threading.Event().wait(9) and traffic.thread.durable < ticket)
    server.thaw()
    traffic.add(100)
    traffic.thread.settle()
    traffic.end()
    assert stored(server, tmp_path / "copy") == list(range(300))
    assert silences


@pytest.mark.parametrize("status", [500, 503, 507])
def test_rows_over_a_store_that_answers_errors_are_all_there_once(
    server: Server, traffic: Traffic, proxy: Proxy, tmp_path: Path, status: int
) -> None:
    proxy.status = status
    traffic.add(100)
    server.freeze()  # ends the connections that the client keeps
    server.kill()
    server.start()
    ticket = traffic.thread.request()
    until(lambda: not threading.Event().wait(1) and traffic.thread.durable < ticket)
    proxy.status = None
    traffic.thread.settle()
    traffic.end()
    assert stored(server, tmp_path / "copy") == list(range(200))


def test_rows_over_a_slow_store_are_all_there_once(
    server: Server, traffic: Traffic, proxy: Proxy, tmp_path: Path
) -> None:
    proxy.delay = 1.5
    server.kill()
    server.start()
    traffic.add(100)
    traffic.thread.settle()
    traffic.end()
    assert stored(server, tmp_path / "copy") == list(range(200))


def test_a_number_keeps_one_generation_once_it_is_final(server: Server, traffic: Traffic) -> None:
    for _ in range(3):
        traffic.add(10)
        traffic.thread.settle()
    traffic.end()
    keys = [entry.key for entry in server.store().list(BUNDLE)]
    assert len(keys) == 1
    assert [source.path for source in resolve(BUNDLE, server.store().list(BUNDLE))] == [
        "producer_summary/p-u-000000.parquet"
    ]


def test_lines_over_a_kill_of_the_store_are_all_there_once_in_order(
    server: Server, silences: list[tuple[int, int]], tmp_path: Path
) -> None:
    sink = StoreSink(server.store(), BUNDLE, lambda *item: silences.append(item))
    text = sink.lines("timeline").open("recorder-u.jsonl")
    expected = b""
    for number in range(6):
        line = json.dumps({"at": number}).encode() + b"\n"
        if number == 2:
            server.kill()
        text.write(line)
        expected += line
        if number == 4:
            until(lambda: sink.patience.unavailable_since is not None)
            server.start()
        if number not in (2, 3):
            text.sync()
    fetch(server.store(), BUNDLE, tmp_path / "copy")
    assert (tmp_path / "copy/timeline/recorder-u.jsonl").read_bytes() == expected
    assert silences


def test_lines_of_a_writer_that_is_started_again_go_on_where_they_ended(
    server: Server, tmp_path: Path
) -> None:
    for line in (b"first\n", b"second\n"):
        folder = StoreSink(server.store(), BUNDLE, lambda *_: None).lines("logs")
        text = folder.open("kafka-0-u.log")
        text.write(line)
        text.close()
    assert folder.names() == ["kafka-0-u.log"]
    assert folder.tail("kafka-0-u.log", 3) == (b"second\n", True)
    fetch(server.store(), BUNDLE, tmp_path / "copy")
    assert (tmp_path / "copy/logs/kafka-0-u.log").read_bytes() == b"first\nsecond\n"


def test_run_json_written_again_is_the_last_one(server: Server, tmp_path: Path) -> None:
    last: dict[str, int] = {}
    for value in ({"a": 1}, {"a": 2}):
        document = StoreSink(server.store(), BUNDLE, lambda *_: None).run_json()
        assert document.read() == last
        document.write(value)
        last = value
    fetch(server.store(), BUNDLE, tmp_path / "copy")
    assert json.loads((tmp_path / "copy/run.json").read_text()) == {"a": 2}
