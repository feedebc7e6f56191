"""Talks to Kubernetes through kubectl: one call, or one watch read document by document.

kubectl and not a client library: it reads KUBECONFIG, contexts and credential plugins as its user
expects, and a plugin of kubectl (``kubectl krt``) always has it.
"""

from __future__ import annotations

import codecs
import json
import queue
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Self

from krt_cli.errors import CouldNotRunError, KubectlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

CHUNK = 65_536
"""Bytes read from kubectl at once: what a pipe holds."""

PAUSE_S = 1.0
"""Seconds before a watch that ended is started again."""

ATTEMPTS = 60
"""Watches in a row without any document after which a test is given up."""


def documents(chunks: Iterable[bytes]) -> Iterator[Any]:
    """Yield each document of a stream of concatenated JSON documents once it is complete.

    Raises:
        KubectlError: the stream ended within a document.
    """
    decode = codecs.getincrementaldecoder("utf-8")().decode
    parser = json.JSONDecoder()
    text = ""
    for chunk in chunks:
        text += decode(chunk)
        while text := text.lstrip():
            try:
                document, end = parser.raw_decode(text)
            except json.JSONDecodeError:
                break  # incomplete: the rest comes with the next chunk
            yield document
            text = text[end:]
    if text.strip():
        raise KubectlError(f"the output of kubectl ends within a document: {text[-200:]!r}")


class Watch:
    """A running ``kubectl get --watch``; leaving the context ends the process."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self._queue: queue.Queue[Any] = queue.Queue()
        self._error: KubectlError | None = None
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed on exit
        self._process = start(command, self._stderr)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        """Return the watch."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End kubectl and wait for it."""
        self._process.terminate()
        self._process.wait()
        self._reader.join()
        self._stderr.close()

    def documents(self, until: float | None = None) -> Iterator[dict[str, Any]]:
        """Yield the documents as they come, up to the end of the watch.

        Args:
            until: the time (``time.monotonic``) to stop at; None for no limit.

        Raises:
            KubectlError: what kubectl printed is not JSON.
        """
        while True:
            wait = None if until is None else until - time.monotonic()
            try:
                document = self._queue.get(timeout=None if wait is None else max(0.0, wait))
            except queue.Empty:
                return
            if document is None:
                if self._error:
                    raise self._error
                return
            yield document

    def complaint(self) -> str:
        """Return what kubectl wrote to standard error, in one line."""
        return read_complaint(self._stderr)

    def _read(self) -> None:
        stdout = self._process.stdout
        if stdout is not None:
            try:
                for document in documents(iter(lambda: stdout.read1(CHUNK), b"")):  # type: ignore[attr-defined]
                    self._queue.put(document)
            except KubectlError as error:
                self._error = error
        self._queue.put(None)


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Calls kubectl.

    Attributes:
        namespace: the namespace of every call; None for that of the context.
        context: the kubeconfig context; None for the current one.
        kubeconfig: the file; None for what KUBECONFIG or the default says.
    """

    namespace: str | None = None
    context: str | None = None
    kubeconfig: Path | None = None

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run a command to its end and return its standard output.

        Args:
            arguments: of the command.
            stdin: what it reads from standard input.

        Raises:
            KubectlError: it failed.
        """
        command = self.command(*arguments)
        with tempfile.TemporaryFile() as stderr:
            process = start(
                command, stderr, subprocess.DEVNULL if stdin is None else subprocess.PIPE
            )
            output, _ = process.communicate(None if stdin is None else stdin.encode())
            if process.returncode:
                raise _failure(command, process.returncode, stderr)
        return output.decode()

    def get(self, *arguments: str) -> dict[str, Any]:
        """Return what ``kubectl get`` prints as JSON."""
        found: dict[str, Any] = json.loads(self("get", *arguments, "--output", "json"))
        return found

    @contextmanager
    def pipe(self, *arguments: str, stdin: str = "") -> Iterator[IO[bytes]]:
        """Run a command and yield its standard output as it comes.

        Args:
            arguments: of the command.
            stdin: what it reads from standard input.

        Raises:
            KubectlError: it failed.
            OSError: what was read could not be written.
        """
        command = self.command(*arguments)
        with tempfile.TemporaryFile() as stderr, tempfile.TemporaryFile() as source:
            source.write(stdin.encode())
            source.seek(0)
            process = start(command, stderr, source)
            output = process.stdout
            problem: Exception | None = None
            try:
                if output is not None:
                    yield output
                    while output.read(CHUNK):
                        pass  # an archive ends before the padding behind it
            except Exception as error:  # noqa: BLE001 - raised below, behind what kubectl says
                problem = error
            finally:
                if output is not None:
                    output.close()
                code = process.wait()
            # What went wrong here, such as a full disk, ends kubectl too: its words say less then.
            if code and not isinstance(problem, OSError):
                raise _failure(command, code, stderr) from problem
        if problem:
            raise problem

    def watch(self, *arguments: str) -> Watch:
        """Start a watch whose documents are ``{"type", "object"}``."""
        options = ("--watch", "--output-watch-events", "--output", "json")
        return Watch(self.command("get", *arguments, *options))

    def states(
        self, name: str, until: float | None = None, attempts: int = ATTEMPTS
    ) -> Iterator[dict[str, Any]]:
        """Yield the states of a test as they change, first the present one.

        The API server ends every watch after some minutes; it is then started again.

        Args:
            name: of the KafkaResilienceTest.
            until: the time (``time.monotonic``) to stop at; None for no limit.
            attempts: watches in a row without any document after which to give up; the first
                watch has only one.

        Raises:
            KubectlError: the test cannot be read.
            CouldNotRunError: the test was deleted.
        """
        left = 1
        while until is None or time.monotonic() < until:
            complaint = ""
            with self.watch("krt", name) as watch:
                for event in watch.documents(until):
                    if event["type"] == "ERROR":
                        # What ended the watch, such as a lost connection; not a state of the test.
                        complaint = str(event["object"].get("message") or event["object"])
                        break
                    left = attempts
                    if event["type"] == "DELETED":
                        raise CouldNotRunError(f"the test {name} was deleted before it ended")
                    yield event["object"]
                complaint = complaint or watch.complaint()
            if until is not None and time.monotonic() >= until:
                return
            left -= 1
            if left <= 0:
                raise KubectlError(
                    f"the test {name} cannot be watched: {complaint or 'the watch ended'}",
                    "kubectl get krt --all-namespaces lists the tests",
                )
            time.sleep(PAUSE_S)

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a call."""
        options: list[str] = []
        if self.kubeconfig:
            options += ["--kubeconfig", str(self.kubeconfig)]
        if self.context:
            options += ["--context", self.context]
        if self.namespace:
            options += ["--namespace", self.namespace]
        return ["kubectl", *options, *arguments]


def _failure(command: list[str], code: int, stderr: IO[bytes]) -> KubectlError:
    """Return the error of a command that failed, with what it wrote to standard error."""
    stderr.seek(0)
    complaint = stderr.read().decode(errors="replace").strip()
    return KubectlError(f"{' '.join(command)} ended with exit code {code}: {complaint}")


def read_complaint(stderr: IO[bytes]) -> str:
    """Return what kubectl wrote to standard error, in one line."""
    stderr.seek(0)
    return " ".join(stderr.read().decode(errors="replace").split())


def start(
    command: list[str], stderr: IO[bytes], stdin: int | IO[bytes] = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start kubectl; its standard output is a pipe.

    Raises:
        KubectlError: it cannot be started.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - kubectl as the user has it
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr
        )
    except FileNotFoundError as error:
        raise KubectlError(
            "kubectl is not on PATH", 'install kubectl, or for the kind cluster: eval "$(hack/env)"'
        ) from error
    except OSError as error:
        raise KubectlError(
            f"kubectl cannot be started: {error}", "make the kubectl on PATH executable"
        ) from error
