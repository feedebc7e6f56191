from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The modules beside this file are shared with hack/bench-traffic, which finds them by path too.
sys.path.insert(0, str(Path(__file__).parent))

from control_api import ControlApi
from local_kafka import LocalKafka, jars, missing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    if (reason := missing()) is not None:
        pytest.skip(f"no real broker can be started: {reason}")
    local = LocalKafka(tmp_path_factory.mktemp("kafka"), jars())
    try:
        local.start()
        yield local
    finally:
        local.stop()


@pytest.fixture
def api() -> Iterator[ControlApi]:
    server = ControlApi()
    yield server
    server.stop()
