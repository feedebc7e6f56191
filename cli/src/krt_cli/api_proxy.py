"""Reads from the API server through one `kubectl proxy`, instead of a kubectl for each request."""

from __future__ import annotations

import http.client
import socket
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from krt_cli.errors import KubectlError
from krt_cli.kubectl import read_complaint, start

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@contextmanager
def api_proxy(kubectl: Kubectl, paths: str) -> Iterator[ApiProxy]:
    """Run `kubectl proxy` on a socket that only its user reaches, until the block ends.

    Args:
        kubectl: whose context is used.
        paths: a regular expression; kubectl refuses other paths.

    Raises:
        KubectlError: it does not listen.
    """
    with tempfile.TemporaryDirectory(prefix="krt-") as folder, tempfile.TemporaryFile() as stderr:
        path = Path(folder) / "api"
        command = kubectl.command(
            "proxy",
            f"--unix-socket={path}",
            f"--accept-paths={paths}",
            "--reject-methods=^(POST|PUT|PATCH|DELETE)$",
        )
        with start(command, stderr) as process:
            try:
                deadline = time.monotonic() + STARTED_WITHIN_S
                while not path.exists():
                    if process.poll() is not None or time.monotonic() > deadline:
                        complaint = read_complaint(stderr) or "it gives no reason"
                        raise KubectlError(f"kubectl proxy does not listen: {complaint}")
                    time.sleep(POLL_S)
                yield ApiProxy(path)
            finally:
                process.terminate()


class ApiProxy:
    """What a running `kubectl proxy` serves.

    Args:
        path: of its socket.
    """

    def __init__(self, path: Path) -> None:
        self._socket = path

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
