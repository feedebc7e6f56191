"""The driver's evidence in an object store: copied, read by address, and given its results."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.scoring.builders import END_ROW

from krt_contract.bundle import write_json
from krt_contract.schemas import LOG
from krt_contract.sinks.store import StoreSink
from krt_contract.stores.folder import FolderStore
from krt_contract.stores.settings import ObjectStoreSettings
from krt_contract.stores.store import StoreError
from krt_scoring.engine import s3a
from krt_scoring.errors import NotABundleError, StoreReadError
from krt_scoring.inputs import evidence_places
from krt_scoring.inputs.evidence_places import FolderPlace, StorePlace, of
from krt_scoring.outputs import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from krt_contract.stores.store import Entry

KEY = "ns/test/uid"
SUMMARY: dict[str, list[Any]] = {
    "producer": ["p-0"],
    "producer_incarnation": ["u"],
    "attempted": [1],
    "acked": [1],
    "failed": [0],
    "unknown": [0],
    "at": [5],
}

LOG_ROW = pa.Table.from_pylist(
    [
        {
            "topic": "foo",
            "partition": 0,
            "offset": 3,
            "key": "k",
            "run_uid": "uid",
            "producer": "p-0",
            "producer_incarnation": "u",
            "seq": 1,
            "checksum_ok": True,
            "size": 200,
            "timestamp": 7,
            "state": "plain",
        }
    ],
    schema=LOG,
)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path / "objects")
    sink = StoreSink(store, KEY, lambda *_: None)
    sink.run_json().write({"schemaVersion": 2})
    sink.table("producer_summary", "p-0-u").write(SUMMARY)
    return store


def test_inspect_copies_the_bundle_and_names_where_spark_reads_each_file(
    store: FolderStore, tmp_path: Path
) -> None:
    place = StorePlace(store, KEY, tmp_path / "copy")
    found = place.inspect()
    (file,) = found.files["producer_summary"]
    assert file == tmp_path / "copy" / KEY / "producer_summary/p-0-u-000000.parquet"
    assert found.uris[file].endswith("producer_summary/p-0-u-000000.000000.parquet")
    assert place.bundle.run_json.exists()


def test_inspect_of_what_is_no_bundle_says_so(store: FolderStore, tmp_path: Path) -> None:
    with pytest.raises(NotABundleError):
        StorePlace(store, "ns/other/uid", tmp_path / "copy").inspect()


def test_inspect_of_a_store_that_is_unavailable_is_a_scoring_error(tmp_path: Path) -> None:
    class Gone(FolderStore):
        def list(self, prefix: str) -> Iterator[Entry]:
            raise StoreError(f"{prefix}: it does not answer")

    with pytest.raises(StoreReadError, match="it does not answer"):
        StorePlace(Gone(tmp_path), KEY, tmp_path / "copy").inspect()


def test_log_of_an_attempt_counts_once_its_ends_are_written(
    store: FolderStore, tmp_path: Path
) -> None:
    place = StorePlace(store, KEY, tmp_path / "copy")
    first, second = place.log("t-scoring-1"), place.log("t-scoring-2")
    assert first.begin() != second.begin()
    store.put(f"{KEY}/log/t-scoring-1/part-0.parquet", b"of an attempt that ended")
    store.put(f"{KEY}/log/t-scoring-2/part-0.parquet", b"complete")
    assert not second.complete()
    second.publish()
    second.ends().write(END_ROW)
    assert first.complete()
    place.inspect()
    assert (place.bundle.table("log") / "part-0.parquet").read_bytes() == b"complete"
    assert (place.bundle.table("log_end_offsets") / "scoring-000000.parquet").exists()


def test_log_that_the_driver_writes_is_the_bundles(store: FolderStore, tmp_path: Path) -> None:
    place = StorePlace(store, KEY, tmp_path / "copy")
    log = place.log("t-scoring-1")
    log.begin()
    writer = log.records()
    writer.write_open(LOG_ROW)
    writer.roll()
    log.publish()
    log.ends().write(END_ROW)
    (file,) = place.inspect().files["log"]
    assert pq.read_table(file, partitioning=None).equals(LOG_ROW)


class Archives:
    """Takes what a Spark context would send to its executors."""

    def __init__(self) -> None:
        self.sparkContext = self
        self.sent: list[str] = []

    def addArchive(self, path: str) -> None:  # noqa: N802 (as Spark names it)
        self.sent.append(path)


def test_spread_sends_small_tables_below_the_working_directory(
    store: FolderStore, tmp_path: Path
) -> None:
    place, spark = StorePlace(store, KEY, tmp_path / "copy"), Archives()
    inspected = place.inspect()
    spread = place.spread(cast("Any", spark), inspected)
    assert not spread.uris
    assert spread.files == inspected.files
    (sent,) = spark.sent
    archive, _, folder = sent.partition("#")
    with zipfile.ZipFile(archive) as packed:
        assert [f"{folder}/{name}" for name in packed.namelist()] == [
            f"{KEY}/producer_summary/p-0-u-000000.parquet"
        ]


def test_spread_of_large_tables_leaves_them_in_the_store(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, spark = StorePlace(store, KEY, tmp_path / "copy"), Archives()
    inspected = place.inspect()
    (file,) = inspected.files["producer_summary"]
    monkeypatch.setattr(evidence_places, "SENT_BYTES", file.stat().st_size - 1)
    assert place.spread(cast("Any", spark), inspected) == inspected
    assert not spark.sent


def test_spread_of_a_bundle_without_tables_sends_nothing(tmp_path: Path) -> None:
    empty = FolderStore(tmp_path / "objects")
    StoreSink(empty, KEY, lambda *_: None).run_json().write({"schemaVersion": 2})
    place, spark = StorePlace(empty, KEY, tmp_path / "copy"), Archives()
    place.spread(cast("Any", spark), place.inspect())
    assert not spark.sent


def test_keep_stores_the_results_that_are_there_and_replaces_earlier_ones(
    store: FolderStore, tmp_path: Path
) -> None:
    place = StorePlace(store, KEY, tmp_path / "copy")
    for verdict in ("Failed", "Passed"):
        write_json(place.bundle.scorecard, {"verdict": verdict})
        place.keep(files.results(place.bundle))
    assert b"Passed" in store.read(f"{KEY}/scorecard.json")
    assert [entry.key for entry in store.list(KEY) if "report" in entry.key] == []


def test_of_without_a_store_is_the_folder(tmp_path: Path) -> None:
    place = of(None, tmp_path, KEY)
    assert isinstance(place, FolderPlace)
    assert place.bundle.root == tmp_path / KEY


def test_s3a_settings_name_the_store_and_no_credentials() -> None:
    store = ObjectStoreSettings("evidence", "http://store:9000")
    found = s3a.settings(store, {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"})
    assert found["spark.hadoop.fs.s3a.endpoint"] == "http://store:9000"
    assert found["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "false"
    assert found["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert "Environment" in found["spark.hadoop.fs.s3a.aws.credentials.provider"]
    assert not {"key", "secret"} & set(found.values())


def test_s3a_settings_without_a_key_take_the_pods_identity() -> None:
    found = s3a.settings(ObjectStoreSettings("evidence", region="eu-1"), {})
    provider = found["spark.hadoop.fs.s3a.aws.credentials.provider"]
    assert provider == "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
    assert "spark.hadoop.fs.s3a.endpoint" not in found


def test_s3a_settings_without_a_store_are_none() -> None:
    assert not s3a.settings(None)
