"""Files of the driver, copied to every executor under the same path.

Spark sends an archive to each executor, before the first task that needs it, and unpacks it into a
folder of the executor's working directory. The pod template makes that the directory below which
the driver has its files (``operator/…/templates/executor.yaml.j2``), so one path names both.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession


def send(spark: SparkSession, directory: Path, files: Iterable[Path]) -> None:
    """Let every executor have the files that tasks read from now on.

    Args:
        spark: the session.
        directory: working directory of the executors.
        files: below one folder of ``directory``, which executors have nothing else in.

    Raises:
        OSError: the archive could not be written.
    """
    names = [path.relative_to(directory) for path in files]
    (top,) = {name.parts[0] for name in names}
    archive = Path(mkdtemp(prefix="krt-")) / "files.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for name in names:
            packed.write(directory / name, name.relative_to(top))
    spark.sparkContext.addArchive(f"{archive}#{top}")
