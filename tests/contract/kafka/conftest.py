from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The local broker is imported by its path in the repository, as mypy knows it.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.contract.traffic import local_kraft
from tests.contract.traffic.local_kafka import LocalKafka, lent
from tests.contract.traffic.local_kraft import NEWEST, OLDEST, LocalKraft

if TYPE_CHECKING:
    from collections.abc import Iterator


GIVEN = {
    "num.io.thread": "8",
    "listener.name.plaintext.no.such.setting": "1",
    "num.network.threads": "2",
    "ssl.key.password": "secret",
    "listener.name.plaintext.ssl.keystore.type": "JKS",
    "listener.name.plaintext.ssl.key.password": "secret",
    "listener.name.plaintext.plain.sasl.jaas.config": "x",
    "metric.reporters": "",
}
"""Settings of the broker: two that Kafka does not know, the others in every form it knows."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    # Nothing here waits for a session to end; a busy machine must not end one.
    settings = {"broker.rack": "zone-a", "zookeeper.session.timeout.ms": "30000"} | GIVEN
    with lent(tmp_path_factory.mktemp("admin"), settings) as local:
        local.start()
        yield local


@pytest.fixture(scope="module", params=[OLDEST, NEWEST])
def kraft(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalKraft]:
    with local_kraft.lent(tmp_path_factory.mktemp("kraft"), request.param) as local:
        local.start()
        yield local
