"""Bundles with something wrong, through the command line: a reason that names it, exit 0."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from tests.spark.job import bundles
from tests.spark.job.bundles import SECOND, Scenario

from krt_scoring import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Damage = Callable[[Path], None]
    Change = Callable[[bundles.Rows], None]

pytestmark = pytest.mark.usefixtures("interpreting")

SMALL = Scenario(sends=1_200, stall=None)
OURS = {"scorecard.json", "report.html", "summary.md", "junit.xml"}
SERIES = "series.json"
"""What scoring adds to a bundle; the series where the run was read."""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundles.make(tmp_path_factory.mktemp("clean"), SMALL)


@pytest.fixture
def score(krt_score: Callable[..., int]) -> Callable[[Path], dict[str, Any]]:
    """Score a bundle, see that no ledger was touched, and return the scorecard."""

    def run(root: Path) -> dict[str, Any]:
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        assert krt_score(str(root)) == cli.EXIT_SCORED
        after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        card: dict[str, Any] = bundles.read_card(root / "scorecard.json")
        added = {path.name for path in after.keys() - before.keys()}
        assert added == OURS | ({SERIES} if "ledger" in card else set())
        assert {path: after[path] for path in before} == before
        return card

    return run


def reasons(card: dict[str, Any]) -> set[tuple[str, str]]:
    return {(item["code"], item["subject"]) for item in card["inconclusiveReasons"]}


def remove(*names: str) -> Damage:
    def damage(root: Path) -> None:
        for name in names:
            path = root / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def several(root: Path) -> None:
    truncated = root / "consume" / "uid-c-0-000001.parquet"
    truncated.write_bytes(truncated.read_bytes()[:-100])
    (root / "produce" / "uid-a-0-000001.parquet").unlink()
    events = root / "consumer_events" / "uid-c-0-000000.parquet"
    shutil.copy(events, events.with_name("zz-copy.parquet"))
    log = root / "log" / "scoring-000002.parquet"
    pq.write_table(pq.read_table(log).drop_columns(["state"]), log)
    timeline = root / "timeline" / "events.jsonl"
    timeline.write_text("{}\n" + timeline.read_text())


def pages(root: Path) -> None:
    """Damage that no footer shows."""
    path = root / "produce" / "uid-b-0-000001.parquet"
    data = bytearray(path.read_bytes())
    data[4:400] = b"\xff" * 396
    path.write_bytes(bytes(data))


def last(table: str) -> Damage:
    def damage(root: Path) -> None:
        max((root / table).glob("*.parquet")).unlink()

    return damage


FILES: dict[str, tuple[Damage, set[tuple[str, str]]]] = {
    "several files at once": (
        several,
        {
            ("FileUnreadable", "consume/uid-c-0-000001.parquet"),
            ("FileMissing", "produce/uid-a-0-000001.parquet"),
            ("FileDuplicated", "consumer_events/zz-copy.parquet"),
            ("SchemaDiffers", "log/scoring-000002.parquet"),
            ("FileUnreadable", "timeline/events.jsonl"),
        },
    ),
    "damaged pages": (pages, {("FileUnreadable", "produce/uid-b-0-000001.parquet")}),
    "no deliveries": (remove("consume"), {("RowsMissing", "c-0")}),
    "no log": (remove("log"), {("RowsMissing", "log")}),
    "no sends": (remove("produce"), {("FileMissing", "produce")}),
    "neither closes nor events nor bounds nor timeline": (
        remove("producer_summary", "consumer_events", "log_end_offsets", "timeline"),
        {
            ("ProducerSummaryMissing", "a-0"),
            ("ProducerSummaryMissing", "b-0"),
            ("GroupNeverStarted", "readers"),
            ("FileMissing", "log_end_offsets"),
            ("FileMissing", "timeline"),
        },
    ),
    "the last file of deliveries and of the log": (
        lambda root: (last("consume")(root), last("log")(root), None)[-1],
        {("RowsMissing", "c-0"), ("RowsMissing", "log")},
    ),
    "the last file of sends": (last("produce"), {("LedgerDoesNotBalance", "produce")}),
}


@pytest.mark.parametrize("case", sorted(FILES))
def test_assess_unusable_file_is_named(
    score: Callable[[Path], dict[str, Any]], clean: Path, tmp_path: Path, case: str
) -> None:
    damage, wanted = FILES[case]
    root = tmp_path / "ns" / "t" / "run-uid"
    shutil.copytree(clean, root)
    damage(root)
    card = score(root)
    assert card["verdict"] == "Inconclusive"
    assert "score" not in card
    assert wanted <= reasons(card), card["inconclusiveReasons"]


PLANS: dict[str, Callable[[str], str]] = {
    "no schema version": lambda text: json.dumps({**json.loads(text), "schemaVersion": None}),
    "no JSON": lambda text: text[:100],
    "no topics": lambda text: json.dumps({**json.loads(text), "topics": None}),
}


@pytest.mark.parametrize("case", [*sorted(PLANS), "no plan"])
def test_assess_unusable_plan_is_named(
    score: Callable[[Path], dict[str, Any]], clean: Path, tmp_path: Path, case: str
) -> None:
    root = tmp_path / "ns" / "t" / "run-uid"
    shutil.copytree(clean, root)
    plan = root / "run.json"
    if case in PLANS:
        plan.write_text(PLANS[case](plan.read_text()))
    else:
        plan.unlink()
    card = score(root)
    assert (card["verdict"], reasons(card)) == ("Inconclusive", {("PlanUnusable", "run.json")})
    assert card["run"] == {"namespace": "ns", "name": "t", "uid": "run-uid"}


def another_run(rows: bundles.Rows) -> None:
    """A producer's pod of another run, and a consumer the plan does not name."""
    for table in ("produce", "producer_summary", "log", "consume"):
        for row in rows.tables[table]:
            if row["producer_incarnation" if "producer" in row else "incarnation"] == "uid-b-0":
                row["producer_incarnation"] = "uid-of-another"
    for table in ("consume", "consumer_events"):
        for row in rows.tables[table]:
            row["consumer"] = "z-0"


def strangers(rows: bundles.Rows) -> None:
    """Records of somebody else at the end of a partition."""
    mine = [row for row in rows.tables["log"] if row["partition"] == 2]
    end = max(row["offset"] for row in mine) + 1
    nobody = {"run_uid": None, "producer": None, "producer_incarnation": None, "seq": None}
    rows.tables["log"].append({**mine[0], **nobody, "offset": end, "checksum_ok": False})
    for row in rows.tables["log_end_offsets"]:
        if row["partition"] == 2:
            row["high_watermark"] = row["last_stable"] = row["read_to"] = end + 1
            row["rows_read"] += 1


def clocks(rows: bundles.Rows) -> None:
    """The consumer's host lives a minute in the past, and a producer's clock was set back."""
    for row in rows.tables["consume"]:
        row["delivered_at"] -= 60 * SECOND
        row["processed_at"] = row["delivered_at"]
    for row in rows.tables["consumer_events"]:
        row["at"] -= 60 * SECOND
    for row in rows.tables["produce"]:
        if row["seq"] == 300:
            row["done_at"] -= 90 * SECOND


def changed(table: str, index: int, **values: Any) -> Change:
    """Change one row of a table."""

    def change(rows: bundles.Rows) -> None:
        rows.tables[table][index].update(values)

    return change


def unheard_of(rows: bundles.Rows) -> None:
    """A number below 0, a time long ago, and a poll that goes back, in one consumer's ledger."""
    for index, values in enumerate(({"offset": -1}, {"delivered_at": 7}, {"poll": 90}), 100):
        changed("consume", index, **values)(rows)


ROWS: dict[str, tuple[Change, set[tuple[str, str]]]] = {
    "an offset below 0 in every ledger": (
        lambda rows: [
            changed(table, 5, offset=-7)(rows) for table in ("produce", "consume", "log")
        ][-1],
        {
            ("RowInvalid", "produce/uid-b-0-000000.parquet row 2"),
            ("RowInvalid", "consume/uid-c-0-000000.parquet row 5"),
            ("RowInvalid", "log/scoring-000000.parquet row 5"),
        },
    ),
    "a partition that no topic has": (
        changed("log", 5, partition=-1),
        {("RowInvalid", "log/scoring-000000.parquet row 5")},
    ),
    "a log that ends below 0": (
        changed("log_end_offsets", 1, high_watermark=-1),
        {("RowInvalid", "log_end_offsets/scoring-000001.parquet row 0")},
    ),
    "a send before the run": (
        changed("produce", 2, scheduled_at=1, sent_at=1),
        {("RowInvalid", "produce/uid-a-0-000000.parquet row 1")},
    ),
    "an event of a group that is not in the plan": (
        changed("consumer_events", -1, group="nobody"),
        {("RowInvalid", "consumer_events/uid-c-0-000002.parquet row 0")},
    ),
    "several in one ledger": (
        unheard_of,
        {
            ("RowInvalid", "consume/uid-c-0-000000.parquet row 100"),
            ("RowInvalid", "consume/uid-c-0-000000.parquet row 101"),
            ("RowInvalid", "consume/uid-c-0-000000.parquet row 102"),
        },
    ),
}


@pytest.mark.parametrize("case", sorted(ROWS))
def test_assess_row_that_no_writer_records_is_named(
    score: Callable[[Path], dict[str, Any]], tmp_path: Path, case: str
) -> None:
    change, wanted = ROWS[case]
    rows = bundles.simulate(SMALL)
    change(rows)
    card = score(bundles.write(tmp_path, rows, bundles.plan(SMALL)))
    assert card["verdict"] == "Inconclusive", card["summary"]
    assert wanted <= reasons(card), card["inconclusiveReasons"]


CONTENTS: dict[str, tuple[Change, set[tuple[str, str]]]] = {
    "mixed runs": (
        another_run,
        {
            ("MixedRuns", "produce/b-0"),
            ("MixedRuns", "producer_summary/b-0"),
            ("MixedRuns", "consume/z-0"),
            ("MixedRuns", "consumer_events/z-0"),
        },
    ),
    "foreign records": (strangers, {("ForeignRecords", "log")}),
    "clocks that run backwards": (clocks, {("ClocksDisagree", "clocks")}),
}


@pytest.mark.parametrize("case", sorted(CONTENTS))
def test_assess_untrustworthy_rows_are_named(
    score: Callable[[Path], dict[str, Any]], tmp_path: Path, case: str
) -> None:
    change, wanted = CONTENTS[case]
    rows = bundles.simulate(SMALL)
    change(rows)
    card = score(bundles.write(tmp_path, rows, bundles.plan(SMALL)))
    assert card["verdict"] == "Inconclusive"
    assert reasons(card) == wanted, card["inconclusiveReasons"]


def test_assess_bundle_with_only_a_plan_is_inconclusive(
    score: Callable[[Path], dict[str, Any]], clean: Path, tmp_path: Path
) -> None:
    root = tmp_path / "ns" / "t" / "run-uid"
    shutil.copytree(clean, root)
    remove(*(path.name for path in root.iterdir() if path.name != "run.json"))(root)
    card = score(root)
    assert card["verdict"] == "Inconclusive"
    assert {("EmptyRun", "traffic"), ("FileMissing", "produce")} <= reasons(card)
