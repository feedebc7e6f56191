"""The deletion of finished tests after `ttlSecondsAfterFinished`.

Daemons do not do it: they end with their run, so that a finished test has no finalizer.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from krt_contract.labels import KIND
from krt_operator.api.status import is_terminal
from krt_operator.engine.events import build_event
from krt_operator.engine.progress import Deletion, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krt_operator.app.metrics import Metrics
    from krt_operator.engine.ports import Clock
    from krt_operator.engine.views import Json

_LOG = logging.getLogger("krt")


class Tests(Protocol):
    """The calls of the API server that expiry makes, bound to a namespace."""

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        """All objects of a kind."""
        ...

    def delete(self, deletion: Deletion) -> bool:
        """Delete; False where the object was already gone."""
        ...

    def emit(self, event: Json) -> None:
        """Create an event."""
        ...


class Sweeper:
    """Deletes expired tests. A test or a namespace that fails does not hold up the others.

    Args:
        tests: the calls to the API server, by namespace; empty: of all namespaces.
        namespaces: that are watched; empty: all.
        clock: the time.
        metrics: counts failures, and the tests that there are.
    """

    def __init__(
        self,
        tests: Callable[[str], Tests],
        namespaces: Sequence[str],
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._tests = tests
        self._namespaces = tuple(namespaces) or ("",)
        self._clock = clock
        self._metrics = metrics
        self._failures: dict[str, str] = {}
        """Uid of a test to the error of its last sweep."""
        self._reported: set[str] = set()
        """Uids of the tests on which an event has named the error."""

    def sweep(self) -> bool:
        """Delete what has expired; raises nothing, but logs and counts what fails.

        Returns:
            Whether the tests of every namespace could be listed.
        """
        seen: set[str] = set()
        found: list[Json] = []
        listed = True
        for namespace in self._namespaces:
            try:
                tests = self._tests(namespace).list(KIND)
            except Exception as error:  # noqa: BLE001 - the sweeper must outlive any failure
                self._metrics.expiry_failed(error)
                _LOG.warning("expired tests of %s: %s", namespace or "all namespaces", error)
                seen |= {*self._failures, *self._reported}
                listed = False
                continue
            found += tests
            for test in tests:
                seen.add(str(test["metadata"]["uid"]))
                self._expire(test)
        for uid in self._failures.keys() - seen:
            del self._failures[uid]
        self._reported &= seen
        if listed:
            self._metrics.listed(found)
        return listed

    def _expire(self, test: Json) -> None:
        meta = test["metadata"]
        uid = str(meta["uid"])
        try:
            deletion = expired(test, self._clock.now())
            if deletion is not None:
                self._tests(meta["namespace"]).delete(deletion)
        except Exception as error:  # noqa: BLE001 - as above
            self._metrics.expiry_failed(error)
            self._failed(test, uid, f"{type(error).__name__}: {error}")
        else:
            self._failures.pop(uid, None)
            self._reported.discard(uid)

    def _failed(self, test: Json, uid: str, cause: str) -> None:
        """Log a failure once, and tell the test what happens to it the second time."""
        meta = test["metadata"]
        where = f"{meta['namespace']}/{meta['name']}"
        lasts = uid in self._failures
        if self._failures.get(uid) != cause:
            _LOG.warning("%s: not deleted after ttlSecondsAfterFinished: %s", where, cause)
        self._failures[uid] = cause
        if not lasts or uid in self._reported:
            return
        message = (
            f"not deleted after spec.ttlSecondsAfterFinished: {cause}; the controller tries again; "
            f"to delete it yourself: kubectl delete krt {meta['name']} -n {meta['namespace']}"
        )
        event = Event("ExpiryFailed", message, warning=True)
        try:
            self._tests(meta["namespace"]).emit(
                build_event(meta["namespace"], meta["name"], uid, event, self._clock.now())
            )
        except Exception as error:  # noqa: BLE001 - as above
            self._metrics.expiry_failed(error)
            _LOG.warning("%s: event ExpiryFailed: %s", where, error)
        else:
            self._reported.add(uid)


def expired(test: Json, now: datetime) -> Deletion | None:
    """The deletion of a test whose `ttlSecondsAfterFinished` has passed; None of any other."""
    seconds = test.get("spec", {}).get("ttlSecondsAfterFinished")
    status = test.get("status") or {}
    ended = status.get("completionTime")
    if seconds is None or not ended or not is_terminal(status.get("phase")):
        return None
    if now < datetime.fromisoformat(ended) + timedelta(seconds=seconds):
        return None
    return Deletion(KIND, test["metadata"]["name"], test["metadata"]["uid"])
