"""The note that the topics are read."""

from __future__ import annotations

import json
import logging

import httpx2
import pytest
from tests.unit.scoring.api_double import Api

from krt_contract.labels import ANNOTATION_TOPICS_READ
from krt_scoring.outputs import topics_read


def test_note_annotates_the_pod() -> None:
    api = Api()
    topics_read.note("ns", "t-scoring-1-x", api.connect)
    (request,) = api.sent
    assert (request.method, request.url.path) == (
        "PATCH",
        "/api/v1/namespaces/ns/pods/t-scoring-1-x",
    )
    assert json.loads(request.content) == {
        "metadata": {"annotations": {ANNOTATION_TOPICS_READ: "true"}}
    }


@pytest.mark.parametrize("step", [429, 503, httpx2.ConnectError("refused")])
def test_note_after_a_passing_error_tries_again(pauses: list[float], step: int | Exception) -> None:
    api = Api(step)
    topics_read.note("ns", "t-scoring-1-x", api.connect)
    assert len(api.sent) == 2
    assert pauses == [0.5]


def test_note_that_is_refused_names_the_right_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = Api(403)
    with caplog.at_level(logging.WARNING):
        topics_read.note("ns", "t-scoring-1-x", api.connect)
    assert len(api.sent) == 1
    assert "patch on pods" in caplog.text


def test_note_to_a_server_that_stays_broken_gives_up(pauses: list[float]) -> None:
    topics_read.note("ns", "t-scoring-1-x", Api(*[503] * 100).connect)
    assert sum(pauses) < 2 * topics_read.DEADLINE_S
