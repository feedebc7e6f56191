from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.traffic.api_server import ApiServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def api() -> Iterator[ApiServer]:
    server = ApiServer()
    yield server
    server.stop()
