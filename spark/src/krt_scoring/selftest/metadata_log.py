"""A metadata log that lacks a record, looked at as a run's own is."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.metadata import HistorySource
from krt_contract.metadata_log.files import read_log
from krt_scoring.inputs.metadata_log import FOLDER, with_metadata_log
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.selftest.difference import Difference, ReasonIdentity, identities
from krt_scoring.selftest.results import CorruptionResult

if TYPE_CHECKING:
    from krt_contract.plan import Plan

NAME = "missing-metadata-record"
NEEDS = "a metadata log of three records without a gap"
LEAST = 3
"""Records of which one lies between two others."""


def run(folder: Path, plan: Plan, seed: int) -> tuple[list[CorruptionResult], dict[str, str]]:
    """Return the outcome, and what it needs if it could not be tried; nothing with ZooKeeper.

    Args:
        folder: the bundle's folder of the metadata log.
        plan: the run's.
        seed: decides which record is taken out.
    """
    if plan.metadata.source is not HistorySource.METADATA_LOG:
        return [], {}
    stored = read_log(folder)
    if len(stored.records) < LEAST or stored.gaps():
        return [], {NAME: NEEDS}
    chance = random.Random(f"{seed} {NAME}")  # noqa: S311 (it chooses a record, no secrets)
    lost = chance.choice(stored.records[1:-1])
    with tempfile.TemporaryDirectory(prefix="krt-selftest-") as root:
        copy = Path(root)
        before = identities(with_metadata_log(Timeline(()), folder, plan).reasons)
        lines = (record.line() for record in stored.records if record is not lost)
        (copy / "records.jsonl").write_text("".join(lines), encoding="utf-8")
        after = identities(with_metadata_log(Timeline(()), copy, plan).reasons)
    reason: ReasonIdentity = ("evidence", "MetadataLogIncomplete", FOLDER)
    expected = Difference(reasons=frozenset({reason}))
    # What is wrong with the run's own files is not wrong with the copy of their records.
    unexpected = Difference(reasons=after - before) - expected
    detected = reason in after and not unexpected
    return [CorruptionResult(NAME, {"offset": lost.offset}, expected, unexpected, detected)], {}
