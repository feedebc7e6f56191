from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The local broker is imported by its path in the repository, as mypy knows it.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.contract.traffic.local_kafka import LocalKafka, jars, missing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    if (reason := missing()) is not None:
        pytest.skip(f"no real broker can be started: {reason}")
    # Nothing here waits for a session to end; a busy machine must not end one.
    settings = {"broker.rack": "zone-a", "zookeeper.session.timeout.ms": "30000"}
    local = LocalKafka(tmp_path_factory.mktemp("admin"), jars(), settings=settings)
    try:
        local.start()
        yield local
    finally:
        local.stop()
