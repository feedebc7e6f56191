"""TLS before a store: certificates as files, and a front that ends the encryption."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.certificates import Signed

CHUNK = 65536


def write(folder: Path, name: str, signed: Signed) -> Path:
    """Write a certificate; returns its file, its key is beside it."""
    file = folder / f"{name}.crt"
    file.write_text(signed.pem)
    file.with_suffix(".key").write_text(signed.key_pem)
    return file


class TlsFront:
    """Forwards what comes through TLS to a store without TLS.

    Args:
        target: port of the store.
        certificate: of the front; its key is beside it.
    """

    def __init__(self, target: int, certificate: Path) -> None:
        self._target = target
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self._started: Future[tuple[int, Callable[[], object]]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        self.port, self._stop = self._started.result()

    def close(self) -> None:
        self._stop()
        self._thread.join()

    async def _run(self) -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        port = int(server.sockets[0].getsockname()[1])
        self._started.set_result((port, partial(loop.call_soon_threadsafe, stopped.set)))
        async with server:
            await stopped.wait()

    async def _serve(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        # Cancelled when the front closes, which asyncio would report as an error of its own.
        with contextlib.suppress(OSError, asyncio.CancelledError):
            answers, store = await asyncio.open_connection("127.0.0.1", self._target)
            await asyncio.gather(_copy(client, store), _copy(answers, back))


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
    except OSError:
        return
    finally:
        sink.close()
