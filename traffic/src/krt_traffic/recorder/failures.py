"""Failures of the recorder's threads: none of them may end unseen."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from krt_traffic.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

log = logging.getLogger(__name__)


class Failures:
    """Starts the recorder's threads and keeps the first exception that ended one of them.

    Without a thread its stream of events is missing, and a missing election makes a permitted loss
    look like a violation. The recorder therefore ends with its first thread.

    Args:
        end: ends the recorder; called from the thread that failed.
    """

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._first: RecordingError | None = None

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """Return a thread that does ``work``; it is not started."""
        return threading.Thread(target=self.guard(work, name), name=name, daemon=True)

    def timer(self, seconds: float, work: Callable[[], None], name: str) -> threading.Timer:
        """Return a thread that does ``work`` after a time; it is not started."""
        timer = threading.Timer(seconds, self.guard(work, name))
        timer.name, timer.daemon = name, True
        return timer

    def guard(self, work: Callable[[], None], name: str) -> Callable[[], None]:
        """Return ``work`` with its exception reported as the failure of the thread ``name``."""

        def run() -> None:
            try:
                work()
            except Exception as error:
                log.exception("the recorder's thread %s failed; ending the recorder", name)
                self._report(error, name)

        return run

    def check(self) -> None:
        """Do nothing while all is well.

        Raises:
            RecordingError: a thread failed; the error of the first.
        """
        with self._lock:
            if self._first is not None:
                raise self._first

    def _report(self, error: Exception, name: str) -> None:
        if not isinstance(error, RecordingError):
            failure = RecordingError(
                f"the recorder's thread {name} failed: {error!r}; what it records is missing from "
                "now on. See the recorder's log and run the test again"
            )
            failure.__cause__ = error
            error = failure
        with self._lock:
            self._first = self._first or error
        self._end()


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Turn an error of the volume or store into one that ends the recorder.

    Args:
        name: of the file, relative to the bundle.

    Raises:
        RecordingError: it could not be written.
    """
    try:
        yield
    except OSError as error:
        raise RecordingError(
            f"{name} could not be written into the evidence ({error.strerror or error}), so what "
            "happens is no longer recorded. Check the free space and the permissions of the claim, "
            "or the object store, in spec.evidence, and run the test again"
        ) from error
