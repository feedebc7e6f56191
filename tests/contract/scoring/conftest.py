from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.tools import unavailable

# The modules of the traffic room's tests are imported by their path, as mypy knows them.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.contract.traffic import local_secure
from tests.contract.traffic.local_kafka import ROOT, LocalKafka, lent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.traffic.local_secure import SecureKafka

POM = ROOT / "hack" / "images" / "spark" / "pom.xml"


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    with lent(tmp_path_factory.mktemp("kafka")) as local:
        local.start()
        yield local


@pytest.fixture(scope="session")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with local_secure.lent(tmp_path_factory.mktemp("secure")) as local:
        local.start()
        yield local


@pytest.fixture(scope="session")
def connector(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Kafka connector's jars, as the image has them, comma-joined."""
    if shutil.which("mvn") is None:
        unavailable("mvn is not on PATH (Debian: maven)")
    folder = tmp_path_factory.mktemp("connector")
    subprocess.run(
        ["mvn", "-q", "-B", "-f", POM, "dependency:copy", f"-DoutputDirectory={folder}"],
        check=True,
        env={**os.environ},
    )
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))
