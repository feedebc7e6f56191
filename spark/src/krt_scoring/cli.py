"""``krt-score BUNDLE...``: score bundles on this machine, byte for byte as the cluster does."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.bundle import Bundle, write_text
from krt_scoring.engine.local_session import LocalSession
from krt_scoring.errors import (
    NotABundleError,
    NotWritableError,
    PlanError,
    SparkFailedError,
)
from krt_scoring.inputs import bundle_files, importers, schema_version
from krt_scoring.inputs.importers.verifiable.layout import SETTINGS
from krt_scoring.outputs import files
from krt_scoring.outputs.scorecard import dump
from krt_scoring.pipeline import assess, without_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.pipeline import Assessment

EXIT_SCORED = 0
EXIT_NO_BUNDLE = 2
EXIT_SPARK = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the bundles named on the command line, in one session, and print the verdicts.

    Returns:
        0 whatever the verdicts, 1 where Spark failed, 2 where a path is not a bundle of this
        release or the scorecard cannot be written; the highest of several.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.source and options.self_test:
        parser.error("--self-test needs a bundle of this product; remove it or --from")
    if options.out and len(options.bundles) > 1:
        parser.error("--out takes the scorecard of one bundle; remove it or score them one by one")
    with LocalSession(options.cores or os.cpu_count() or 1, options.driver_memory) as spark:
        return max([_score_and_write(path, options, spark) for path in options.bundles])


def _score_and_write(path: Path, options: argparse.Namespace, spark: LocalSession) -> int:
    """Score one bundle, write the outputs, print its lines and return its exit code."""
    name = f"{path}: " if len(options.bundles) > 1 else ""
    try:
        result = _score(path, options, spark)
        bundle = Bundle(path)
        with files.writing(bundle, options.out):
            if options.out:
                write_text(options.out, dump(result.card))
            else:
                files.write(bundle, result)
    except (NotABundleError, NotWritableError) as error:
        sys.stderr.write(f"krt-score: {error}\n")
        return EXIT_NO_BUNDLE
    except SparkFailedError as error:
        sys.stderr.write(f"krt-score: {name}{error}\n")
        return EXIT_SPARK
    tested = result.card.get("selfTest")
    if tested:
        sys.stdout.write(
            f"{name}self-test: {tested['detected']} of {tested['total']} corruptions detected\n"
        )
    score = result.card.get("score")
    points = "" if score is None else f", score {score}"
    sys.stdout.write(f"{name}{result.card['verdict']}{points}: {result.card['summary']}\n")
    sys.stdout.flush()
    return EXIT_SCORED


def _score(path: Path, options: argparse.Namespace, spark: LocalSession) -> Assessment:
    """Score the bundle, or what another tool recorded.

    Raises:
        NotABundleError: there is nothing at the path that can be scored.
        NotWritableError: the outputs could not be written.
    """
    if options.source is None:
        bundle = bundle_files.require_bundle(path)
        schema_version.require_current(bundle)
        files.require_place(bundle, options.out)
        return _score_inspected(bundle_files.inspect(bundle), options, spark)
    with tempfile.TemporaryDirectory(prefix="krt-import-") as folder:
        try:
            imported = importers.IMPORTERS[options.source](path, Path(folder))
        except PlanError as error:
            return without_plan(Bundle(path), str(error), SETTINGS)
        files.require_place(Bundle(path), options.out)
        inspected = bundle_files.inspect(imported.bundle, needed=())
        reasons = (*inspected.reasons, *imported.reasons)
        return _score_inspected(replace(inspected, reasons=reasons), options, spark)


def _score_inspected(
    inspected: Inspection, options: argparse.Namespace, spark: LocalSession
) -> Assessment:
    rows = sum(inspected.rows.values())
    return spark.run(rows, lambda session: assess(session, inspected, self_test=options.self_test))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="krt-score",
        description="Score an evidence bundle with local Spark. The ledgers are only read.",
    )
    parser.add_argument(
        "bundles",
        metavar="bundle",
        nargs="+",
        type=Path,
        help="directory <namespace>/<name>/<uid>; with --from, the directory of the tool's output. "
        "Several are scored one after the other in one session, which takes less than half the "
        "time for all but the first",
    )
    parser.add_argument(
        "--from",
        dest="source",
        choices=sorted(importers.IMPORTERS),
        help="score what another tool recorded: verifiable (Kafka's VerifiableProducer and "
        "VerifiableConsumer)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="write the scorecard of the one bundle to this file and nothing into the bundle",
    )
    parser.add_argument(
        "--driver-memory",
        help="heap of the Spark process, such as 2g (default: by the size of the bundle)",
    )
    parser.add_argument(
        "--self-test",
        action="store_true",
        help="corrupt copies of the evidence and check that each corruption is detected (always "
        "done where the run's spec.scoring.selfTest is true)",
    )
    parser.add_argument("--cores", type=int, help="worker threads (default: all cores)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
