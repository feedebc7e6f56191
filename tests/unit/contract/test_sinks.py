"""A bundle in an object store, with a double of the store that loses answers and delivers late."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krt_contract.fetch import fetch
from krt_contract.ledger import table_of
from krt_contract.object_layout import resolve
from krt_contract.sinks import chunks, patience
from krt_contract.sinks.store import StoreSink
from krt_contract.stores.settings import ObjectStoreSettings
from krt_contract.stores.store import Entry, KeyExistsError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

BUNDLE = "ns/test/uid"


class Memory:
    """A store in memory.

    Attributes:
        objects: what it holds.
        puts: what becomes of the next puts: taken, refused, lost (taken, and not acknowledged),
            or late (not acknowledged, taken at ``settle``).
    """

    def __init__(self, puts: list[str] | None = None) -> None:
        self.objects: dict[str, bytes] = {}
        self.puts = puts or []
        self._late: list[tuple[str, bytes]] = []

    def put(self, key: str, data: bytes) -> None:
        fate = self.puts.pop(0) if self.puts else "taken"
        if key in self.objects:
            raise KeyExistsError(key)
        if fate == "late":
            self._late.append((key, data))
        elif fate != "refused":
            self.objects[key] = data
        if fate != "taken":
            raise StoreError(fate)

    def settle(self) -> None:
        self.objects.update(self._late)

    def replace(self, key: str, data: bytes) -> None:
        self.objects[key] = data

    def read(self, key: str) -> bytes:
        return self.objects[key]

    def list(self, prefix: str) -> Iterator[Entry]:
        for key in sorted(self.objects):
            if key.startswith(f"{prefix}/"):
                yield Entry(key, len(self.objects[key]))

    def open(self, key: str) -> pa.NativeFile:
        raise NotImplementedError

    def delete(self, key: str) -> None:
        self.objects.pop(key, None)

    def uri(self, key: str) -> str:
        return key


def rows(*numbers: int) -> pa.Table:
    names = ("attempted", "acked", "failed", "unknown", "at")
    texts = {"producer": ["p"] * len(numbers), "producer_incarnation": ["u"] * len(numbers)}
    return table_of("producer_summary", texts | {name: list(numbers) for name in names})


def stored(store: Memory) -> list[int]:
    return [
        row
        for source in resolve(BUNDLE, store.list(BUNDLE))
        for entry in source.entries
        for row in pq.read_table(io.BytesIO(store.read(entry.key)))["attempted"].to_pylist()
    ]


@pytest.fixture(autouse=True, scope="module")
def _at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patience, "RETRY_SECONDS", 0)
        yield


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["taken", "refused", "lost", "late"]), max_size=30),
    st.lists(st.sampled_from(["open", "roll"]), min_size=1, max_size=8),
)
def test_table_over_every_fate_of_its_puts_holds_each_row_once(
    puts: list[str], steps: list[str]
) -> None:
    store = Memory(puts)
    table = StoreSink(store, BUNDLE, lambda *_: None).table("producer_summary", "p-u")
    expected, open_rows = [], [0]
    for number, step in enumerate(steps, start=1):
        table.write_open(rows(*open_rows))
        if step == "roll":
            table.roll()
            expected += open_rows
            open_rows = []
        open_rows.append(number)
    table.write_open(rows(*open_rows, -1))
    table.write_open(rows(*open_rows))
    store.settle()
    assert stored(store) == expected + open_rows


def test_discard_open_with_a_late_put_leaves_no_row() -> None:
    store = Memory(["late", "taken", "taken"])
    table = StoreSink(store, BUNDLE, lambda *_: None).table("producer_summary", "p-u")
    table.write_open(rows(1))
    table.discard_open()
    store.settle()
    assert not stored(store)


def test_table_of_a_stem_that_was_written_before_takes_higher_generations() -> None:
    store = Memory()
    for number in (1, 2):
        table = StoreSink(store, BUNDLE, lambda *_: None).table("producer_summary", "p-u")
        table.write_open(rows(number))
    assert stored(store) == [2]


def test_clear_deletes_the_objects_of_its_stem_alone() -> None:
    store = Memory()
    sink = StoreSink(store, BUNDLE, lambda *_: None)
    for stem, number in (("kafka-1", 1), ("kafka-11", 2)):
        sink.table("producer_summary", stem).write_open(rows(number))
    sink.clear("producer_summary", "kafka-1")
    assert stored(store) == [2]


def test_report_of_an_outage_comes_once_with_its_start_and_end() -> None:
    silences: list[tuple[int, int]] = []
    sink = StoreSink(Memory(["refused"] * 3), BUNDLE, lambda *item: silences.append(item))
    sink.table("producer_summary", "p-u").write_open(rows(1))
    assert [end >= start for start, end in silences] == [True]


def test_lines_beyond_what_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "WAITING_BYTES", 10)
    text = StoreSink(Memory(), BUNDLE, lambda *_: None).lines("logs").open("a.log")
    with pytest.raises(StoreError, match="wait for it already"):
        text.write(b"12345678901")


def test_lines_after_the_uploader_failed_are_refused(tmp_path: Path) -> None:
    class Broken(Memory):
        def put(self, key: str, data: bytes) -> None:
            raise KeyError(key, data)

    text = StoreSink(Broken(), BUNDLE, lambda *_: None).lines("logs").open("a.log")
    text.write(b"line\n")
    with pytest.raises(StoreError, match="no longer written"):
        text.sync()
    assert not list(tmp_path.iterdir())


def test_lines_opened_twice_are_numbered_in_one_place(tmp_path: Path) -> None:
    store = Memory()
    folder = StoreSink(store, BUNDLE, lambda *_: None).lines("logs")
    first, second = folder.open("a.log"), folder.open("a.log")
    first.write(b"1\n")
    first.sync()
    second.write(b"2\n")
    second.sync()
    fetch(store, BUNDLE, tmp_path)
    assert (tmp_path / "logs/a.log").read_bytes() == b"1\n2\n"


def test_fetch_returns_the_key_of_each_copy_of_one_object(tmp_path: Path) -> None:
    store = Memory()
    sink = StoreSink(store, BUNDLE, lambda *_: None)
    sink.table("producer_summary", "p-u").write_open(rows(1))
    assert fetch(store, BUNDLE, tmp_path) == {
        tmp_path / "producer_summary/p-u-000000.parquet": (
            f"{BUNDLE}/producer_summary/p-u-000000.000000.parquet"
        )
    }


def test_settings_are_read_from_the_environment_they_make() -> None:
    settings = ObjectStoreSettings("b", "https://s3.example.com", "eu-1", "a/b", path_style=False)
    assert ObjectStoreSettings.read(settings.variables()) == settings
    assert settings.path("ns/x") == "b/a/b/ns/x"
    assert settings.host == "s3.example.com"


def test_settings_without_a_bucket_are_none() -> None:
    assert ObjectStoreSettings.read({}) is None


def test_settings_with_an_endpoint_that_is_no_url_are_refused() -> None:
    with pytest.raises(ValueError, match="write it like https://"):
        ObjectStoreSettings("b", "minio:9000")
