"""What every evidence store does: a folder, and an object store behind the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krt_contract.stores.store import Entry, KeyExistsError, StoreError

if TYPE_CHECKING:
    from tests.contract.store.server import Server

    from krt_contract.stores.store import Store

KEY = "ns/test/uid/produce/main-0-000000.000001.parquet"


def test_put_of_a_new_key_is_read_back(store: Store) -> None:
    store.put(KEY, b"rows")
    assert store.read(KEY) == b"rows"


def test_put_of_a_key_that_is_there_is_refused_and_changes_nothing(store: Store) -> None:
    store.put(KEY, b"first")
    with pytest.raises(KeyExistsError):
        store.put(KEY, b"second")
    assert store.read(KEY) == b"first"


def test_replace_of_a_key_that_is_there_takes_its_place(store: Store) -> None:
    store.replace("ns/scorecard.json", b"first")
    store.replace("ns/scorecard.json", b"second")
    assert store.read("ns/scorecard.json") == b"second"


def test_list_yields_keys_below_a_folder_in_order_with_their_sizes(store: Store) -> None:
    for key in ("a/c/2", "a/1", "a/c/1", "ab/1", "b"):
        store.put(key, key.encode())
    assert list(store.list("a")) == [Entry("a/1", 3), Entry("a/c/1", 5), Entry("a/c/2", 5)]
    assert len(list(store.list(""))) == 5


def test_list_of_a_folder_that_is_not_there_is_empty(store: Store) -> None:
    assert not list(store.list("nowhere"))


def test_read_and_open_of_a_key_that_is_not_there_say_so(store: Store) -> None:
    for access in (store.read, store.open):
        with pytest.raises(FileNotFoundError):
            access("nowhere/1")


def test_delete_takes_a_key_away_and_is_silent_without_one(store: Store) -> None:
    store.put(KEY, b"rows")
    store.delete(KEY)
    store.delete(KEY)
    assert not list(store.list("ns"))


def test_open_reads_the_footer_of_a_table_alone(store: Store) -> None:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table({"seq": list(range(1000))}), buffer)
    store.put(KEY, buffer.getvalue().to_pybytes())
    with store.open(KEY) as file:
        assert pq.read_metadata(file).num_rows == 1000


def test_uri_names_the_key_for_spark(store: Store) -> None:
    assert store.uri(KEY).endswith(KEY)


def test_put_with_another_secret_is_a_store_error(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(StoreError, match="credentials"):
        server.store().put(KEY, b"rows")


def test_put_into_a_store_that_is_gone_is_a_store_error_and_works_when_it_is_back(
    server: Server,
) -> None:
    store = server.store()
    server.kill()
    with pytest.raises(StoreError):
        store.put(KEY, b"rows")
    server.start()
    store.put(KEY, b"rows")
    assert server.store().read(KEY) == b"rows"


def test_uri_of_an_object_store_is_of_hadoops_client(server: Server) -> None:
    assert server.store().uri("ns/a") == "s3a://evidence/krt/ns/a"
