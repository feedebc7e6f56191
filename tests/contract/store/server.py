"""The embedded store as a process of this machine, and a proxy before it that misbehaves."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.contract.tools import unavailable
from tests.ports import free_port

from krt_contract.stores.objects import ObjectStore
from krt_contract.stores.settings import ObjectStoreSettings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
KEY, SECRET, BUCKET = "test-key", "test-secret", "evidence"


def program() -> Path:
    """Return the store's program, built where it is not there yet."""
    if named := os.environ.get("KRT_STORE_PROGRAM"):
        return Path(named)
    if shutil.which("go") is None and not list((Path.home() / ".cache/krt").glob("go-*/bin/go")):
        unavailable("there is no Go to build store/ with; install Go, or run hack/up on Debian")
    built = subprocess.run(
        [ROOT / "hack/store.sh", "program"], check=True, capture_output=True, text=True
    )
    return Path(built.stdout.strip())


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)


class Server:
    """A store on a folder; it can be killed, started again on the same folder, and frozen."""

    def __init__(self, folder: Path, executable: Path) -> None:
        self.folder, self._program = folder, executable
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        variables = {
            "KRT_STORE_FOLDER": str(self.folder),
            "KRT_STORE_LISTEN": f"127.0.0.1:{self.port}",
            "KRT_STORE_BUCKET": BUCKET,
            "KRT_STORE_ACCESS_KEY": KEY,
            "KRT_STORE_SECRET_KEY": SECRET,
        }
        self._process = subprocess.Popen([self._program], env={**os.environ, **variables})
        until(self._listens)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def tls_settings(self, port: int, ca_file: Path | None) -> ObjectStoreSettings:
        """Return how the store is reached through a `TlsFront` by who trusts these CAs."""
        endpoint = f"https://127.0.0.1:{port}"
        return ObjectStoreSettings(BUCKET, endpoint, prefix="krt", ca_file=str(ca_file or ""))

    def settings(self, port: int | None = None) -> ObjectStoreSettings:
        return ObjectStoreSettings(BUCKET, f"http://127.0.0.1:{port or self.port}", prefix="krt")

    def store(self, port: int | None = None) -> ObjectStore:
        return ObjectStore(self.settings(port))

    def _listens(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False


class Proxy:
    """Forwards connections to a store, or answers every request itself with an error.

    Attributes:
        status: HTTP status to answer with; None to forward.
        delay: seconds before anything is forwarded.
    """

    def __init__(self, target: int) -> None:
        self.status: int | None = None
        self.delay = 0.0
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                first = client.recv(65536)
                if self.status is not None:
                    body = b"<Error><Code>ServiceUnavailable</Code></Error>"
                    head = f"HTTP/1.1 {self.status} X\r\nConnection: close\r\nContent-Length: "
                    client.sendall(head.encode() + str(len(body)).encode() + b"\r\n\r\n" + body)
                    return
                time.sleep(self.delay)
                with socket.create_connection(("127.0.0.1", self._target)) as server:
                    server.sendall(first)
                    back = threading.Thread(target=_copy, args=(server, client), daemon=True)
                    back.start()
                    _copy(client, server)
                    back.join()
            except OSError:
                return


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
