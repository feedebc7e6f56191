from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster, User
from tests.unit.traffic.api_server import Answer, ApiServer, list_of

from krt_traffic.errors import UnusableError
from krt_traffic.kubernetes.client import ApiError, KubernetesClient
from krt_traffic.kubernetes.objects import KafkaResilienceTest, Pod

if TYPE_CHECKING:
    from pathlib import Path


def client_of(api: ApiServer) -> KubernetesClient:
    return KubernetesClient.from_environment("ns", {"KRT_API": api.url})


def test_from_environment_outside_a_pod_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("krt_traffic.kubernetes.client.SERVICE_ACCOUNT", str(tmp_path))
    with pytest.raises(UnusableError, match="set KRT_API"):
        KubernetesClient.from_environment("ns", {})


def test_list_of_custom_resource_asks_for_its_group_and_selector(api: ApiServer) -> None:
    item = {"metadata": {"name": "t"}, "status": {"phases": [{"name": "Injecting"}]}}
    api.answers.append(list_of("5", item))
    items, version = client_of(api).list(KafkaResilienceTest, {"fieldSelector": "metadata.name=t"})
    assert (items[0].status.phases[0].name, version) == ("Injecting", "5")
    asked = api.requests[0]
    assert asked.path == "/apis/kafkaresilience.dev/v1alpha1/namespaces/ns/kafkaresiliencetests"
    assert asked.query == {"fieldSelector": "metadata.name=t"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"kind": "Status", "message": "no pods for you"}', "no pods for you"),
        (b"<html>", "<html>"),
    ],
)
def test_list_refused_raises_the_status_and_what_the_server_says(
    api: ApiServer, body: bytes, message: str
) -> None:
    api.answers.append(Answer(body, status=403))
    with pytest.raises(ApiError, match=f"403: {message}") as refused:
        client_of(api).list(Pod, {})
    assert refused.value.status == 403


def test_list_unreachable_raises_oserror(api: ApiServer) -> None:
    client = client_of(api)
    api.stop()
    with pytest.raises(OSError, match="request to"):
        client.list(Pod, {})


def test_list_answered_with_no_list_raises_oserror(api: ApiServer) -> None:
    api.answers.append(Answer(b"[]"))
    with pytest.raises(OSError, match="is not a list"):
        client_of(api).list(Pod, {})


def test_list_with_rotated_token_reads_it_again(api: ApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    cluster, user = Cluster(server=api.url), User(token_file=str(token))
    config = KubeConfig.from_one(cluster=cluster, user=user).get()
    assert config is not None
    client = KubernetesClient(config, "ns")
    api.answers += [list_of("1"), Answer(status=401), list_of("2")]
    client.list(Pod, {})
    token.write_text("new")
    assert client.list(Pod, {})[1] == "2"
    assert [asked.authorization for asked in api.requests] == [
        "Bearer old",
        "Bearer old",
        "Bearer new",
    ]


def test_log_yields_lines_split_at_newlines_alone(api: ApiServer) -> None:
    api.answers.append(Answer("1 a\x85b\r\n2 c\u2028d\n3 end".encode()))
    lines = list(client_of(api).log("p", container="kafka", sinceTime="2026-11-21T04:03:19Z"))
    assert lines == ["1 a\x85b".encode(), "2 c\u2028d".encode(), b"3 end"]
    assert api.requests[0].path == "/api/v1/namespaces/ns/pods/p/log"
    assert api.requests[0].query == {"container": "kafka", "sinceTime": "2026-11-21T04:03:19Z"}


def test_stream_closed_from_another_thread_ends_the_iteration(api: ApiServer) -> None:
    api.answers.append(Answer(b"first\n", stays_open=True))
    stream = client_of(api).log("p")
    lines = iter(stream)
    assert next(lines) == b"first"
    threading.Timer(0.2, stream.close).start()
    with pytest.raises(OSError, match="broke off"):
        next(lines)
    stream.release()
