"""TLS before a store: the certificates of a CA of our own, and a front that ends the encryption."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import subprocess
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from tests.contract.tools import unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHUNK = 65536


def make_ca(folder: Path, name: str) -> Path:
    """Make a CA; returns the file of its certificate, its key is beside it."""
    certificate = folder / f"{name}.crt"
    _request(certificate, f"/CN={name}")
    return certificate


def make_server(ca: Path) -> Path:
    """Make a certificate of 127.0.0.1 that the CA has signed; its key is beside it."""
    certificate = ca.with_name(f"{ca.stem}-server.crt")
    _request(
        *(certificate, "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1"),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
        *("-CA", str(ca), "-CAkey", str(ca.with_suffix(".key"))),
    )
    return certificate


def _request(certificate: Path, subject: str, *more: str) -> None:
    if shutil.which("openssl") is None:
        unavailable("openssl is not on PATH (Debian: openssl)")
    key = certificate.with_suffix(".key")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-days", "2", "-subj", subject, "-out", certificate),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key),
            *more,
        ],
        check=True,
        capture_output=True,
    )


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
