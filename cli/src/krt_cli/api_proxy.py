"""Reads from the API server through one `kubectl proxy`, instead of a kubectl for each request."""

from __future__ import annotations

import http.client
import socket
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from krt_cli.errors import KubectlError
from krt_cli.kubectl import start

if TYPE_CHECKING:
    from types import TracebackType

    from krt_cli.kubectl import Kubectl

STARTED_WITHIN_S: Final = 10.0
"""Seconds that kubectl is given to listen."""

POLL_S: Final = 0.05
"""Seconds between two looks whether it does."""

ANSWERED_WITHIN_S: Final = 5.0
"""Seconds that an answer may take: what is read here is of no use later."""


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=ANSWERED_WITHIN_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class ApiProxy:
    """A running `kubectl proxy` on a socket that only its user reaches; the block ends it.

    Args:
        kubectl: whose context is used.
        paths: a regular expression; kubectl refuses other paths.
    """

    def __init__(self, kubectl: Kubectl, paths: str) -> None:
        self._kubectl = kubectl
        self._paths = paths
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            KubectlError: it does not listen.
        """
        try:
            self._start()
        except KubectlError:
            self._ends.close()
            raise
        return self

    def _start(self) -> None:
        folder = Path(self._ends.enter_context(tempfile.TemporaryDirectory(prefix="krt-")))
        self._socket = folder / "api"
        stderr = self._ends.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it is
        command = self._kubectl.command(
            "proxy",
            f"--unix-socket={self._socket}",
            f"--accept-paths={self._paths}",
            "--reject-methods=^(POST|PUT|PATCH|DELETE)$",
        )
        process = self._ends.enter_context(start(command, stderr))
        self._ends.callback(process.terminate)
        deadline = time.monotonic() + STARTED_WITHIN_S
        while not self._socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                stderr.seek(0)
                said = " ".join(stderr.read().decode(errors="replace").split())
                raise KubectlError(f"kubectl proxy does not listen: {said or 'it says nothing'}")
            time.sleep(POLL_S)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End kubectl and wait for it."""
        self._ends.close()

    def get(self, path: str, accept: str = "*/*") -> str:
        """Return what the API server answers.

        Args:
            path: with its query.
            accept: the media type to ask for.

        Raises:
            KubectlError: there was no answer, or an error.
        """
        connection = _Connection(self._socket)
        try:
            connection.request("GET", path, headers={"Accept": accept})
            answer = connection.getresponse()
            body = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise KubectlError(f"the API server does not answer: {error}") from error
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise KubectlError(f"HTTP {answer.status} from {path.partition('?')[0]}: {body[:200]}")
        return body
