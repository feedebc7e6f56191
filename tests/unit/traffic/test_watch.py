from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.unit.traffic.api_server import Answer, ApiServer, config_map, error_event, event, list_of

from krt_traffic.errors import RecordingError
from krt_traffic.kubernetes.client import KubernetesClient
from krt_traffic.kubernetes.objects import ConfigMap
from krt_traffic.kubernetes.watch import Watch
from krt_traffic.recorder.failures import Failures

if TYPE_CHECKING:
    from collections.abc import Iterator

SELECTOR = {"fieldSelector": "metadata.name=t"}


class RecordingSink:
    """Keeps what a watch saw: the versions of each list, and kind and version of each change."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []
        self.changes: list[tuple[str, str]] = []
        self.states: list[str] = []
        self.gaps: list[tuple[int, int]] = []
        self.at_end: list[bool] = []
        self._heard = threading.Condition()

    def listed(self, items: list[ConfigMap]) -> None:
        self.lists.append([item.metadata.resource_version for item in items])

    def changed(self, kind: str, item: ConfigMap) -> None:
        with self._heard:
            self.changes.append((kind, item.metadata.resource_version))
            self.states.append(item.data["state"])
            self._heard.notify_all()

    def gap(self, start: int, end: int, at_end: bool, /) -> None:
        self.gaps.append((start, end))
        self.at_end.append(at_end)

    def wait_for_changes(self, count: int) -> None:
        with self._heard:
            assert self._heard.wait_for(lambda: len(self.changes) >= count, 10), self.changes


@contextmanager
def watching(api: ApiServer, *answers: Answer) -> Iterator[RecordingSink]:
    api.answers.extend(answers)
    sink = RecordingSink()
    client = KubernetesClient.from_environment("ns", {"KRT_API": api.url})
    watch = Watch(client, ConfigMap, SELECTOR, sink, gap=sink.gap)
    watch.start()
    try:
        yield sink
    finally:
        watch.stop()


def versions(api: ApiServer) -> list[str | None]:
    """The resource version each request resumed from; None for a list."""
    return [asked.query.get("resourceVersion") for asked in api.requests]


def test_watch_started_lists_and_then_passes_changes_on(api: ApiServer) -> None:
    changes = event("MODIFIED", config_map("6")) + event("DELETED", config_map("7"))
    with watching(api, list_of("5", config_map("4")), Answer(changes, stays_open=True)) as sink:
        sink.wait_for_changes(2)
    assert sink.lists == [["4"]]
    assert sink.changes == [("MODIFIED", "6"), ("DELETED", "7")]
    assert sink.gaps == []
    asked = api.requests[1]
    assert asked.path == "/api/v1/namespaces/ns/configmaps"
    assert asked.query["fieldSelector"] == "metadata.name=t"
    assert asked.query["allowWatchBookmarks"] == "true"
    assert asked.query["resourceVersion"] == "5"


def test_watch_ended_by_server_resumes_from_last_bookmark(api: ApiServer) -> None:
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "9", "creationTimestamp": None}})
    with watching(api, list_of("5"), Answer(event("ADDED", config_map("6")) + bookmark)) as sink:
        api.wait_until(lambda: len(api.requests) == 3)
    assert versions(api) == [None, "5", "9"]
    assert sink.changes == [("ADDED", "6")]
    assert sink.gaps == []


def test_watch_answered_gone_lists_again(api: ApiServer) -> None:
    gone = Answer(b'{"kind": "Status", "code": 410, "message": "too old"}', status=410)
    with watching(api, list_of("5"), gone, list_of("8")) as sink:
        api.wait_until(lambda: len(api.requests) == 4)
    assert versions(api) == [None, "5", None, "8"]
    assert len(sink.lists) == 2


def test_watch_receiving_gone_as_event_lists_again(api: ApiServer) -> None:
    answer = Answer(event("ADDED", config_map("6")) + error_event(410))
    with watching(api, list_of("5"), answer, list_of("8")) as sink:
        api.wait_until(lambda: len(api.requests) == 4)
    assert versions(api) == [None, "5", None, "8"]
    assert len(sink.lists) == 2


def test_watch_broken_within_a_line_resumes_from_last_whole_event(api: ApiServer) -> None:
    begun = event("ADDED", config_map("6")) + b'{"type": "MODIFIED", "obj'
    with watching(
        api,
        list_of("5"),
        Answer(begun, breaks_off=True),
        Answer(event("MODIFIED", config_map("7")), stays_open=True),
    ) as sink:
        sink.wait_for_changes(2)
    assert versions(api)[:3] == [None, "5", "6"]
    assert sink.changes == [("ADDED", "6"), ("MODIFIED", "7")]
    assert len(sink.gaps) == 1
    assert sink.gaps[0][0] < sink.gaps[0][1]
    assert sink.at_end == [False]


def test_watch_refused_by_a_server_in_trouble_tries_again(api: ApiServer) -> None:
    with watching(
        api,
        Answer(b"upstream is down", status=502),
        list_of("5"),
        Answer(b"upstream is down", status=503),
    ) as sink:
        api.wait_until(lambda: len(api.requests) == 4)
    assert versions(api) == [None, None, "5", "5"]
    assert len(sink.gaps) == 1


def test_watch_receiving_unicode_line_separators_keeps_the_event(api: ApiServer) -> None:
    state = "a\u2028b\x85c"
    answer = Answer(event("ADDED", config_map("6", state)), stays_open=True)
    with watching(api, list_of("5"), answer) as sink:
        sink.wait_for_changes(1)
    assert sink.states == [state]


def test_watch_stopped_while_silent_ends_its_thread(api: ApiServer) -> None:
    with watching(api, list_of("5")):
        api.wait_until(lambda: len(api.requests) == 2)
    assert not [thread for thread in threading.enumerate() if thread.name == "watch ConfigMap"]


class RefusingSink(RecordingSink):
    """Refuses the first change it gets."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.errors = [error]

    def changed(self, kind: str, item: ConfigMap) -> None:
        if self.errors:
            raise self.errors.pop()
        super().changed(kind, item)


def test_watch_whose_sink_failed_asks_for_the_same_change_again(api: ApiServer) -> None:
    change = Answer(event("MODIFIED", config_map("6")), stays_open=True)
    api.answers.extend([list_of("5"), change, change])
    client = KubernetesClient.from_environment("ns", {"KRT_API": api.url})
    sink = RefusingSink(ConnectionError("not taken"))
    watch = Watch(client, ConfigMap, SELECTOR, sink, gap=sink.gap)
    watch.start()
    sink.wait_for_changes(1)
    watch.stop()
    assert versions(api) == [None, "5", "5"]


def test_watch_stopped_while_interrupted_reports_a_gap_to_its_end(api: ApiServer) -> None:
    refused = Answer(b"upstream is down", status=503)
    with watching(api, list_of("5"), *[refused] * 100) as sink:
        api.wait_until(lambda: len(api.requests) == 3)
    assert len(sink.gaps) == 1
    assert sink.at_end == [True]


def test_watch_whose_sink_cannot_record_ends_its_thread(api: ApiServer) -> None:
    api.answers.extend([list_of("5"), Answer(event("MODIFIED", config_map("6")), stays_open=True)])
    client = KubernetesClient.from_environment("ns", {"KRT_API": api.url})
    ended = threading.Event()
    failures = Failures(ended.set)
    sink = RefusingSink(RecordingError("the volume is full"))
    Watch(client, ConfigMap, SELECTOR, sink, thread=failures.thread).start()
    assert ended.wait(10)
    with pytest.raises(RecordingError, match="the volume is full"):
        failures.check()
