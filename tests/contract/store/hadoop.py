"""Spark's S3 client, as the scoring image has it, without Spark: one command of Hadoop's shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from tests.contract.store.server import ROOT
from tests.contract.tools import unavailable

from krt_scoring.engine import s3a

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.stores.settings import ObjectStoreSettings

IMPATIENT = {"fs.s3a.attempts.maximum": "1", "fs.s3a.retry.limit": "1"}
"""What is refused here stays refused."""


def class_path(folder: Path) -> str:
    """Return the classes of pyspark, of the S3 client, and an empty configuration."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            unavailable(f"{tool} is not on PATH (Debian: openjdk-17-jre-headless maven)")
    jars = subprocess.run([ROOT / "hack/s3-jars"], check=True, capture_output=True, text=True)
    (folder / "core-site.xml").write_text("<configuration/>")
    return f"{folder}:{Path(pyspark.__file__).parent / 'jars'}/*:{jars.stdout.strip()}/*"


def read(
    classes: str,
    store: ObjectStoreSettings,
    key: str,
    variables: Mapping[str, str],
    flags: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Print what a key of a store holds, with the settings that a scoring Job has.

    Args:
        classes: as of `class_path`.
        store: where it is.
        key: what is read.
        variables: environment by which the client finds credentials.
        flags: of Java.
    """
    settings = {
        name.removeprefix("spark.hadoop."): value
        for name, value in s3a.settings(store, variables).items()
    }
    options = [
        word
        for name, value in {**settings, **IMPATIENT}.items()
        for word in ("-D", f"{name}={value}")
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    shell = ("java", *flags, "-cp", classes, "org.apache.hadoop.fs.FsShell")
    return subprocess.run(
        [*shell, *options, "-cat", f"s3a://{store.path(key)}"],
        env={**kept, **variables},
        check=False,
        capture_output=True,
        text=True,
    )
