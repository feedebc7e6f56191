"""The readiness endpoint: ready means that the controller watches the tests.

Kopf's own endpoint is for liveness: it answers as soon as the event loop runs, also where the CRD
is missing or the controller may not list tests.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

READ_TIMEOUT: Final = 5.0
"""Seconds for the request of a probe."""

MAX_LINES: Final = 64
"""Lines of a request that are read; its content does not matter."""


@asynccontextmanager
async def serving(port: int, obstacle: Callable[[], str]) -> AsyncIterator[int]:
    """Answer 200 while nothing is in the way, else 503 with what is; yield the port.

    Args:
        port: to listen on; 0 for any free one.
        obstacle: why the controller does not watch the tests; empty if it does.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                for _ in range(MAX_LINES):
                    if not (await reader.readline()).strip():
                        break
            words = obstacle()
            status = "503 Service Unavailable" if words else "200 OK"
            body = f"{words or 'watching'}\n".encode()
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # the probe went away or sent no request
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "0.0.0.0", port)  # noqa: S104 - the kubelet asks
    async with server:
        yield int(server.sockets[0].getsockname()[1])
