"""``krt-score BUNDLE``: score a bundle on this machine, byte for byte as the cluster does."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.bundle import Bundle, write_text
from krt_scoring.engine import session, spark_errors
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

    from pyspark.sql import SparkSession

    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.pipeline import Assessment

EXIT_SCORED = 0
EXIT_NO_BUNDLE = 2
EXIT_SPARK = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the bundle named on the command line and print the verdict.

    Returns:
        0 whatever the verdict, 1 where Spark failed, 2 where the path is not a bundle of this
        release or the scorecard cannot be written.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.source and options.self_test:
        parser.error("--self-test needs a bundle of this product; remove it or --from")
    try:
        result = _score(options)
        bundle = Bundle(options.bundle)
        with files.writing(bundle, options.out):
            if options.out:
                write_text(options.out, dump(result.card))
            else:
                files.write(bundle, result)
    except (NotABundleError, NotWritableError) as error:
        sys.stderr.write(f"krt-score: {error}\n")
        return EXIT_NO_BUNDLE
    except SparkFailedError as error:
        sys.stderr.write(f"krt-score: {error}\n")
        return EXIT_SPARK
    tested = result.card.get("selfTest")
    if tested:
        sys.stdout.write(
            f"self-test: {tested['detected']} of {tested['total']} corruptions detected\n"
        )
    score = result.card.get("score")
    points = "" if score is None else f", score {score}"
    sys.stdout.write(f"{result.card['verdict']}{points}: {result.card['summary']}\n")
    return EXIT_SCORED


def _score(options: argparse.Namespace) -> Assessment:
    """Score the bundle, or what another tool recorded.

    Raises:
        NotABundleError: there is nothing at the path that can be scored.
        NotWritableError: the outputs could not be written.
    """
    if options.source is None:
        bundle = bundle_files.require_bundle(options.bundle)
        schema_version.require_current(bundle)
        files.require_place(bundle, options.out)
        return _score_inspected(bundle_files.inspect(bundle), options)
    with tempfile.TemporaryDirectory(prefix="krt-import-") as folder:
        try:
            imported = importers.IMPORTERS[options.source](options.bundle, Path(folder))
        except PlanError as error:
            return without_plan(Bundle(options.bundle), str(error), SETTINGS)
        files.require_place(Bundle(options.bundle), options.out)
        inspected = bundle_files.inspect(imported.bundle, needed=())
        reasons = (*inspected.reasons, *imported.reasons)
        return _score_inspected(replace(inspected, reasons=reasons), options)


def _score_inspected(inspected: Inspection, options: argparse.Namespace) -> Assessment:
    cores = options.cores or os.cpu_count() or 1
    rows = sum(inspected.rows.values())
    memory = options.driver_memory or session.Sizing(rows, cores).local_memory
    with spark_errors.translate_errors(f"give it more with --driver-memory (it had {memory})"):
        spark = session.local(rows, memory, cores)
        return _assess_and_stop(inspected, spark, self_test=options.self_test)


def _assess_and_stop(inspected: Inspection, spark: SparkSession, *, self_test: bool) -> Assessment:
    try:
        return assess(spark, inspected, self_test=self_test)
    finally:
        spark.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="krt-score",
        description="Score an evidence bundle with local Spark. The ledgers are only read.",
    )
    parser.add_argument(
        "bundle",
        type=Path,
        help="directory <namespace>/<name>/<uid>; with --from, the directory of the tool's output",
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
        help="write the scorecard to this file and nothing into the bundle",
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
