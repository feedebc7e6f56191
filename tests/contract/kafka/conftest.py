from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The local broker is imported by its path in the repository, as mypy knows it.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.contract.traffic.local_kafka import LocalKafka, lent

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    # Nothing here waits for a session to end; a busy machine must not end one.
    settings = {"broker.rack": "zone-a", "zookeeper.session.timeout.ms": "30000"}
    with lent(tmp_path_factory.mktemp("admin"), settings) as local:
        local.start()
        yield local
