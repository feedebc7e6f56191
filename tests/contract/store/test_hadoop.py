"""Spark's S3 client gives what is stored, however it divides an object into requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.contract.store import hadoop
from tests.contract.store.server import KEY, SECRET

from krt_contract.stores.settings import ACCESS_KEY, SECRET_KEY

if TYPE_CHECKING:
    from tests.contract.store.server import Server

BLOCK = 8 * 2**20
"""Bytes that the client reads by one request (fs.s3a.prefetch.block.size)."""


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_client_reads_every_byte(server: Server, classes: str, size: int) -> None:
    text = "".join(f"{number:08x}" for number in range(size // 8 + 1))[:size]
    server.store().put("part-0", text.encode())
    variables = {ACCESS_KEY: KEY, SECRET_KEY: SECRET}
    done = hadoop.read(classes, server.settings(), "part-0", variables)
    assert done.stdout == text, done.stderr
