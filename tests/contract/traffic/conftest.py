from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The modules beside this file are imported by their path in the repository, as mypy knows them.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.contract.traffic import local_secure
from tests.contract.traffic.control_api import ControlApi
from tests.contract.traffic.local_kafka import LocalKafka, lent
from tests.contract.traffic.pods import Pods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.traffic.local_secure import SecureKafka


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


@pytest.fixture
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """One that is not started yet and that the test may break."""
    with lent(tmp_path_factory.mktemp("own")) as local:
        yield local


@pytest.fixture(autouse=True)
def _no_pod_outlives_its_test() -> Iterator[None]:
    yield
    while Pods.started:
        process = Pods.started.pop()
        process.kill()
        process.wait()


@pytest.fixture
def api() -> Iterator[ControlApi]:
    server = ControlApi()
    yield server
    server.stop()
