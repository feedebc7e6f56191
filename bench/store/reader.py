"""Scores one bundle in this process, from a folder or from a store, and writes the scorecard.

Arguments: how rows are read (``folder``, ``copy``, ``sent``, ``store``), the folder with the bundle
or an empty one for the copy, the key of the bundle, the file for the scorecard, worker threads. The
environment has the settings of the store.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.bundle import write_text
from krt_contract.stores.settings import ObjectStoreSettings
from krt_scoring.engine import s3a
from krt_scoring.engine.local_session import LocalSession
from krt_scoring.inputs import evidence_places
from krt_scoring.outputs.scorecard import dump
from krt_scoring.pipeline import assess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from krt_scoring.pipeline import Assessment

FOLDER, COPY, SENT, STORE = "folder", "copy", "sent", "store"

JARS = "KRT_BENCH_JARS"
"""The environment variable with the folder of the S3 client's jars."""


def configure(store: ObjectStoreSettings, jars: str, folder: Path) -> None:
    """Let the JVM of this process have the S3 client and its settings, as the scoring image has."""
    settings = {"spark.driver.extraClassPath": f"{jars}/*", **s3a.settings(store)}
    lines = (f"{name} {value}\n" for name, value in settings.items())
    (folder / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    os.environ["SPARK_CONF_DIR"] = str(folder)


def main(way: str, folder: str, key: str, out: str, cores: str) -> None:
    """Score the bundle as the Job of a test does, with local executors.

    Raises:
        RuntimeError: the environment names no store.
    """
    store = ObjectStoreSettings.read(os.environ)
    if store is None:
        raise RuntimeError("the environment names no object store; run python -m bench.store")
    with tempfile.TemporaryDirectory() as conf, LocalSession(int(cores), None) as spark:
        configure(store, os.environ[JARS], Path(conf))
        place = evidence_places.of(None if way == FOLDER else store, Path(folder), key)
        inspected = place.inspect()

        def score(session: SparkSession) -> Assessment:
            if way == SENT:
                return assess(session, place.spread(session, inspected))
            return assess(session, inspected if way == STORE else replace(inspected, uris={}))

        write_text(Path(out), dump(spark.run(sum(inspected.rows.values()), score).card))


if __name__ == "__main__":
    main(*sys.argv[1:])
