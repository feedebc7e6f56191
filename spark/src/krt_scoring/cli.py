"""``krt-score BUNDLE...``: score bundles on this machine, byte for byte as the cluster does."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.bundle import Bundle, write_text
from krt_contract.errors import ContractError
from krt_contract.stores.settings import DEFAULT_REGION, ObjectStoreSettings
from krt_scoring.engine import class_data, session
from krt_scoring.engine.local_session import LocalSession
from krt_scoring.errors import (
    NotABundleError,
    NotWritableError,
    PlanError,
    ScoringError,
    SparkFailedError,
    StoreReadError,
)
from krt_scoring.inputs import bundle_files, evidence_places, importers, schema_version
from krt_scoring.inputs.evidence_places import FolderPlace
from krt_scoring.inputs.importers.verifiable.layout import SETTINGS
from krt_scoring.outputs import files
from krt_scoring.outputs.scorecard import dump
from krt_scoring.pipeline import assess, without_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.inputs.evidence_places import EvidencePlace
    from krt_scoring.pipeline import Assessment

OBJECTS = "s3://"
"""How the address of a bundle in an object store begins."""

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
    if options.source and any(item.startswith(OBJECTS) for item in options.bundles):
        parser.error("--from needs a directory; copy the tool's output to this machine")
    cores = options.cores or os.cpu_count() or 1
    try:
        archive = None if session.rules_out(session.Shortcut.CLASS_DATA) else class_data.find()
    except ScoringError as error:
        parser.error(str(error))
    with LocalSession(cores, options.driver_memory, archive) as spark:
        return max([_score_and_write(item, options, spark) for item in options.bundles])


def _score_and_write(address: str, options: argparse.Namespace, spark: LocalSession) -> int:
    """Score one bundle, write the outputs, print its lines and return its exit code."""
    name = f"{address}: " if len(options.bundles) > 1 else ""
    try:
        with _place(address, options) as place:
            result = _score(place, options, spark)
            with files.writing(place.bundle, options.out):
                if options.out:
                    write_text(options.out, dump(result.card))
                else:
                    files.write(place.bundle, result)
                    place.keep(files.results(place.bundle))
    except (NotABundleError, NotWritableError, StoreReadError) as error:
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


@contextmanager
def _place(address: str, options: argparse.Namespace) -> Iterator[EvidencePlace]:
    """Yield where the bundle is; of one in an object store, the copy lasts as long.

    Raises:
        NotABundleError: the address is none of a bundle in an object store.
    """
    if not address.startswith(OBJECTS):
        yield FolderPlace(Path(address))
        return
    bucket, *path = address.removeprefix(OBJECTS).strip("/").split("/")
    if len(path) < len(Bundle.PARTS):
        raise NotABundleError(
            f"{address}: give s3://<bucket>/<prefix, if any>/<namespace>/<name>/<uid>"
        )
    prefix, key = path[: -len(Bundle.PARTS)], path[-len(Bundle.PARTS) :]
    # AWS names the bucket in the host; other stores do so only where their DNS was set up for it.
    endpoint = options.endpoint or ""
    try:
        store = ObjectStoreSettings(
            bucket,
            endpoint,
            options.region,
            "/".join(prefix),
            path_style=bool(endpoint),
            ca_file=options.ca_file or "",
        )
    except ContractError as error:
        raise NotABundleError(str(error)) from error
    with tempfile.TemporaryDirectory(prefix="krt-score-") as folder:
        yield evidence_places.of(store, Path(folder), "/".join(key))


def _score(place: EvidencePlace, options: argparse.Namespace, spark: LocalSession) -> Assessment:
    """Score the bundle, or what another tool recorded.

    Raises:
        NotABundleError: there is nothing at the path that can be scored.
        NotWritableError: the outputs could not be written.
        StoreReadError: an object store did not give the bundle.
    """
    bundle = place.bundle
    if options.source is None:
        # Before the version is looked at: of an object store, run.json is here only then.
        inspected = place.inspect()
        schema_version.require_current(bundle)
        files.require_place(bundle, options.out)
        # This machine reads the copy.
        return _score_inspected(replace(inspected, uris={}), options, spark)
    with tempfile.TemporaryDirectory(prefix="krt-import-") as folder:
        try:
            imported = importers.IMPORTERS[options.source](bundle.root, Path(folder))
        except PlanError as error:
            return without_plan(bundle, str(error), SETTINGS)
        files.require_place(bundle, options.out)
        inspected = bundle_files.inspect(imported.bundle, needed=())
        reasons = (*inspected.reasons, *imported.reasons)
        return _score_inspected(replace(inspected, reasons=reasons), options, spark)


def _score_inspected(
    inspected: Inspection, options: argparse.Namespace, local: LocalSession
) -> Assessment:
    rows = sum(inspected.rows.values())
    return local.run(rows, lambda spark: assess(spark, inspected, self_test=options.self_test))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="krt-score",
        description="Score an evidence bundle with local Spark. The ledgers are only read.",
    )
    parser.add_argument(
        "bundles",
        metavar="bundle",
        nargs="+",
        help="directory <namespace>/<name>/<uid>, or s3://<bucket>/<namespace>/<name>/<uid>, with "
        "credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; with --from, the directory of "
        "the tool's output. Several are scored one after the other in one session, which takes "
        "less than half the time for all but the first",
    )
    parser.add_argument(
        "--endpoint",
        help="URL of the object store's S3 interface, for s3:// (default: AWS)",
    )
    parser.add_argument(
        "--region",
        default=DEFAULT_REGION,
        help="region of the object store, for s3:// (default: %(default)s)",
    )
    parser.add_argument(
        "--ca-file",
        help="file with the certificates of the CAs that the object store is trusted by (PEM), for "
        "s3:// (default: those of the system)",
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
