"""What goes over the wire to an API server, and what its answers mean."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from kubernetes.client.configuration import Configuration

from krt_operator.engine.progress import Deletion, Eviction
from krt_operator.errors import (
    ConflictError,
    GoneError,
    RefusedError,
    TransientError,
)
from krt_operator.kubernetes.broker_pods import ApiBrokerPods
from krt_operator.kubernetes.client import ApiCluster
from krt_operator.kubernetes.rest import Rest

if TYPE_CHECKING:
    from collections.abc import Iterator

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u"}, "spec": {}}


class Server:
    """Answers in order; keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[dict[str, Any]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                url = urlsplit(self.path)
                server.asked.append(
                    {
                        "method": self.command,
                        "path": url.path,
                        "query": {k: v[0] for k, v in parse_qs(url.query).items()},
                        "type": self.headers.get("Content-Type"),
                        "auth": self.headers.get("authorization"),
                        "body": json.loads(body) if body else None,
                    }
                )
                status, answer = server.answers.pop(0)
                raw = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815 - http.server's

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def cluster(self) -> ApiCluster:
        return ApiCluster(self.rest(), "ns")

    def broker_pods(self) -> ApiBrokerPods:
        return ApiBrokerPods(self.rest(), "kafka", {"app": "kafka"})

    def rest(self) -> Rest:
        configuration = Configuration()
        configuration.host = f"http://127.0.0.1:{self.http.server_port}"
        configuration.api_key["BearerToken"] = "bearer secret"
        configuration.retries = False
        return Rest(configuration)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.http.shutdown()
    found.http.server_close()


def test_apply_is_server_side_forced_and_authenticated(server: Server) -> None:
    server.answers = [(200, POD)]
    assert server.cluster().apply(POD) == POD
    [asked] = server.asked
    assert (asked["method"], asked["path"]) == ("PATCH", "/api/v1/namespaces/ns/pods/p")
    assert asked["type"] == "application/apply-patch+yaml"
    assert asked["query"]["force"] == "true"
    assert asked["query"]["fieldManager"] == "krt-operator"
    assert asked["auth"] == "bearer secret"
    assert asked["body"] == POD


def test_check_create_is_a_dry_run(server: Server) -> None:
    server.answers = [(201, POD), (409, {"message": "already exists"})]
    cluster = server.cluster()
    cluster.check_create(POD)
    cluster.check_create(POD)
    asked = server.asked[0]
    assert (asked["method"], asked["path"]) == ("POST", "/api/v1/namespaces/ns/pods")
    assert asked["query"]["dryRun"] == "All"


def test_check_create_refused_raises_unless_a_webhook_cannot_be_asked(server: Server) -> None:
    server.answers = [
        (403, {"message": "exceeded quota: small"}),
        (400, {"message": 'admission webhook "a.b" does not support dry run'}),
    ]
    with pytest.raises(RefusedError, match="exceeded quota"):
        server.cluster().check_create(POD)
    server.cluster().check_create(POD)


def test_delete_carries_uid_and_grace(server: Server) -> None:
    server.answers = [(200, {})]
    assert server.cluster().delete(Deletion("Pod", "p", "u", grace_seconds=0))
    assert server.asked[0]["body"] == {
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u"},
        "gracePeriodSeconds": 0,
    }


def test_delete_of_another_or_nobody_is_no_error(server: Server) -> None:
    other = {**POD, "metadata": {"name": "p", "uid": "other"}}
    gone, failed = (404, {"message": "no"}), (409, {"message": "UID in precondition"})
    server.answers = [gone, failed, (200, other), failed, gone]
    cluster = server.cluster()
    for _ in range(3):
        assert not cluster.delete(Deletion("Pod", "p", "u"))
    assert [asked["method"] for asked in server.asked] == ["DELETE", *2 * ["DELETE", "GET"]]


def test_delete_refused_as_a_conflict_of_the_object_itself_is_asked_again(server: Server) -> None:
    server.answers = [(409, {"message": "the object has been modified"}), (200, POD)]
    with pytest.raises(ConflictError):
        server.cluster().delete(Deletion("Pod", "p", "u"))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (409, ConflictError),
        (403, RefusedError),
        (422, RefusedError),
        (429, TransientError),
        (500, TransientError),
        (503, TransientError),
    ],
)
def test_the_status_decides_about_trying_again(server: Server, status: int, error: Any) -> None:
    server.answers = [(status, {"message": "because"})]
    with pytest.raises(error, match="because"):
        server.cluster().apply(POD)


def test_nobody_there_is_transient(server: Server) -> None:
    cluster = server.cluster()
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(TransientError, match="did not answer"):
        cluster.get("Pod", "p")


def test_lists_every_page(server: Server) -> None:
    server.answers = [
        (200, {"metadata": {"continue": "more"}, "items": [{"n": 1}]}),
        (200, {"metadata": {}, "items": [{"n": 2}]}),
    ]
    assert server.cluster().list("Pod", {"b": "2", "a": "1"}) == [{"n": 1}, {"n": 2}]
    assert server.asked[0]["query"]["labelSelector"] == "a=1,b=2"
    assert server.asked[1]["query"]["continue"] == "more"


def test_cluster_scoped_kinds_have_no_namespace(server: Server) -> None:
    server.answers = [(200, {"items": []})]
    server.cluster().list("Node")
    assert server.asked[0]["path"] == "/api/v1/nodes"


def test_status_is_put_with_the_version_that_was_read(server: Server) -> None:
    read = {"metadata": {"name": "t", "resourceVersion": "7"}, "spec": {}, "status": {"a": 1}}
    server.answers = [(200, {}), (409, {})]
    cluster = server.cluster()
    cluster.write_status(read, {"b": 2})
    [asked] = server.asked
    assert asked["path"].endswith("/namespaces/ns/kafkaresiliencetests/t/status")
    assert asked["method"] == "PUT"
    assert asked["body"]["metadata"]["resourceVersion"] == "7"
    assert asked["body"]["status"] == {"b": 2}
    with pytest.raises(ConflictError):
        cluster.write_status(read, {})


def refusal(message: str, *causes: dict[str, str]) -> tuple[int, Any]:
    """An eviction's 429, as kube-apiserver 1.34 words it."""
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    body = {"kind": "Status", "status": "Failure", "message": message or text, "code": 429}
    return 429, body | {"reason": "TooManyRequests", "details": {"causes": list(causes)}}


def budget(message: str) -> dict[str, str]:
    return {"reason": "DisruptionBudget", "message": message}


EVICTION = Deletion("Pod", "p", "u", grace_seconds=5)


def test_an_eviction_names_the_pod_its_uid_and_grace(server: Server) -> None:
    server.answers = [(201, {"kind": "Status", "status": "Success"})]
    assert server.cluster().evict(EVICTION) == Eviction(evicted=True)
    [asked] = server.asked
    assert (asked["method"], asked["path"]) == ("POST", "/api/v1/namespaces/ns/pods/p/eviction")
    assert asked["body"] == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p", "namespace": "ns"},
        "deleteOptions": {"preconditions": {"uid": "u"}, "gracePeriodSeconds": 5},
    }


def test_a_budgets_refusal_is_an_answer(server: Server) -> None:
    why = "The disruption budget t-kafka needs 2 healthy pods and has 2 currently"
    server.answers = [refusal("", budget(why))]
    assert server.cluster().evict(EVICTION) == Eviction(refused=why)


@pytest.mark.parametrize(
    "answer",
    [
        refusal("", budget("The disruption budget t is still being processed by the server.")),
        (429, {"message": "too many requests, please try again later"}),
    ],
)
def test_an_undecided_budget_and_a_busy_server_are_asked_again(
    server: Server, answer: tuple[int, Any]
) -> None:
    server.answers = [answer]
    with pytest.raises(TransientError):
        server.cluster().evict(EVICTION)


def test_an_eviction_of_nobody_or_a_namesake_does_nothing(server: Server) -> None:
    other = {**POD, "metadata": {"name": "p", "uid": "other"}}
    server.answers = [(404, {}), (409, {"message": "UID in precondition"}), (200, other)]
    cluster = server.cluster()
    assert cluster.evict(EVICTION) == Eviction()
    assert cluster.evict(EVICTION) == Eviction()


def test_a_conflict_on_the_budget_is_asked_again(server: Server) -> None:
    server.answers = [(409, {"message": "the object has been modified"}), (200, POD)]
    with pytest.raises(ConflictError):
        server.cluster().evict(EVICTION)


def test_ephemeral_container_once_by_its_name(server: Server) -> None:
    there = {**POD, "spec": {"ephemeralContainers": [{"name": "kill"}]}}
    server.answers = [(200, POD), (200, there), (200, there)]
    cluster = server.cluster()
    cluster.add_ephemeral_container("p", "u", {"name": "kill"})
    assert server.asked[1]["path"] == "/api/v1/namespaces/ns/pods/p/ephemeralcontainers"
    assert server.asked[1]["type"] == "application/strategic-merge-patch+json"
    cluster.add_ephemeral_container("p", "u", {"name": "kill"})
    assert [one["method"] for one in server.asked] == ["GET", "PATCH", "GET"]


def test_ephemeral_container_not_in_a_namesake(server: Server) -> None:
    server.answers = [(200, POD)]
    with pytest.raises(GoneError):
        server.cluster().add_ephemeral_container("p", "other", {"name": "kill"})


def test_annotates_the_pod_with_that_uid_if_it_is_there(server: Server) -> None:
    server.answers = [(200, POD), (404, {}), (409, {})]
    cluster = server.cluster()
    cluster.annotate_pod("p", "u", {"example.com/a": "b"})
    assert server.asked[0]["path"] == "/api/v1/namespaces/ns/pods/p"
    assert server.asked[0]["type"] == "application/strategic-merge-patch+json"
    assert server.asked[0]["body"] == {
        "metadata": {"uid": "u", "annotations": {"example.com/a": "b"}}
    }
    cluster.annotate_pod("p", "u", {"example.com/a": "b"})
    cluster.annotate_pod("p", "u", {"example.com/a": "b"})
    assert not server.answers


def test_frees_our_finalizer_and_no_other(server: Server) -> None:
    meta = {
        "name": "t",
        "resourceVersion": "7",
        "finalizers": ["kafkaresilience.dev/finalizer", "example.com/theirs"],
    }
    server.answers = [(200, {"metadata": meta}), (200, {})]
    assert server.cluster().remove_finalizers("t")
    assert server.asked[1]["body"]["metadata"] == {
        "resourceVersion": "7",
        "finalizers": ["example.com/theirs"],
    }


def brokers_pod(uid: str = "u", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "p", "uid": uid, "labels": labels}}


def test_brokers_pod_is_deleted_with_its_uid_in_the_namespace_of_its_owner(server: Server) -> None:
    server.answers = [(200, brokers_pod(app="kafka", more="of them")), (200, {})]
    assert server.broker_pods().delete(Deletion("Pod", "p", "u"))
    _, asked = server.asked
    assert (asked["method"], asked["path"]) == ("DELETE", "/api/v1/namespaces/kafka/pods/p")
    assert asked["body"]["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize(
    ("found", "uid"),
    [
        (brokers_pod(uid="another", app="kafka"), "u"),
        (brokers_pod(app="else"), "u"),
        (brokers_pod(), "u"),
        (brokers_pod(app="kafka"), None),
    ],
)
def test_brokers_pod_with_another_uid_or_without_the_labels_is_not_deleted(
    server: Server, found: Any, uid: str | None
) -> None:
    server.answers = [(200, found)]
    assert not server.broker_pods().delete(Deletion("Pod", "p", uid))
    assert [asked["method"] for asked in server.asked] == ["GET"]


def test_brokers_pod_that_changes_after_it_was_read_is_read_again(server: Server) -> None:
    first, second = brokers_pod(app="kafka"), brokers_pod(app="kafka")
    first["metadata"]["resourceVersion"] = "7"
    second["metadata"]["resourceVersion"] = "8"
    server.answers = [(200, first), (409, {}), (200, second), (200, {})]
    assert server.broker_pods().delete(Deletion("Pod", "p", "u"))
    assert [asked["method"] for asked in server.asked] == ["GET", "DELETE", "GET", "DELETE"]
    preconditions = [asked["body"]["preconditions"] for asked in server.asked[1::2]]
    assert preconditions == [
        {"uid": "u", "resourceVersion": "7"},
        {"uid": "u", "resourceVersion": "8"},
    ]


def test_brokers_pod_that_loses_its_labels_after_it_was_read_is_not_deleted(server: Server) -> None:
    pod = brokers_pod(app="kafka")
    pod["metadata"]["resourceVersion"] = "7"
    server.answers = [(200, pod), (409, {}), (200, brokers_pod())]
    assert not server.broker_pods().delete(Deletion("Pod", "p", "u"))
    assert [asked["method"] for asked in server.asked] == ["GET", "DELETE", "GET"]


def brokers_pod_of_version(version: str, **labels: str) -> dict[str, Any]:
    pod = brokers_pod(**labels) | {"spec": {}}
    pod["metadata"]["resourceVersion"] = version
    return pod


def test_brokers_pod_gets_an_ephemeral_container_in_the_version_that_has_the_labels(
    server: Server,
) -> None:
    first, second = (brokers_pod_of_version(version, app="kafka") for version in "78")
    server.answers = [(200, first), (200, second), (409, {}), (200, second), (200, second)]
    server.answers.append((200, second))
    server.broker_pods().add_ephemeral_container("p", "u", {"name": "c"})
    path = "/api/v1/namespaces/kafka/pods/p/ephemeralcontainers"
    patches = [asked for asked in server.asked if asked["method"] == "PATCH"]
    assert [asked["path"] for asked in patches] == [path, path]
    assert [asked["body"] for asked in patches] == [
        {
            "metadata": {"uid": "u", "resourceVersion": version},
            "spec": {"ephemeralContainers": [{"name": "c"}]},
        }
        for version in "78"
    ]


def test_brokers_pod_that_has_lost_its_labels_gets_no_ephemeral_container(server: Server) -> None:
    found, changed = (
        brokers_pod_of_version("7", app="kafka"),
        brokers_pod_of_version("8", app="else"),
    )
    server.answers = [(200, found), (200, changed), (409, {}), (200, changed)]
    with pytest.raises(GoneError, match="without the labels"):
        server.broker_pods().add_ephemeral_container("p", "u", {"name": "c"})
    assert [asked["method"] for asked in server.asked] == ["GET", "GET", "PATCH", "GET"]


def test_brokers_pod_that_is_in_conflict_each_time_ends_the_attempt(server: Server) -> None:
    pod = brokers_pod_of_version("7", app="kafka")
    server.answers = [(200, pod), (409, {})] * 5
    with pytest.raises(ConflictError, match="pod p: the API server answered 5 times"):
        server.broker_pods().delete(Deletion("Pod", "p", "u"))
    assert not server.answers
    server.answers = [(200, pod), (200, pod), (409, {})] * 5
    with pytest.raises(ConflictError, match="pod p: the API server answered 5 times"):
        server.broker_pods().add_ephemeral_container("p", "u", {"name": "c"})
    assert not server.answers


def test_brokers_pods_are_listed_by_their_labels(server: Server) -> None:
    server.answers = [(200, {"items": []})]
    server.broker_pods().list()
    assert server.asked[0]["path"] == "/api/v1/namespaces/kafka/pods"
    assert server.asked[0]["query"]["labelSelector"] == "app=kafka"


def test_missing_rights_are_those_that_the_api_server_does_not_allow(server: Server) -> None:
    server.answers = [
        (201, {"status": {"allowed": allowed}}) for allowed in (False, True, True, True)
    ]
    server.answers.append((201, {"status": {}}))
    missing = server.broker_pods().missing_rights()
    assert missing == ["fault brokerpods.kafkaresilience.dev", "delete pods"]
    asked, signal = server.asked[:2]
    assert asked["path"] == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert asked["body"]["spec"]["resourceAttributes"] == {
        "namespace": "kafka",
        "group": "kafkaresilience.dev",
        "resource": "brokerpods",
        "subresource": "",
        "verb": "fault",
    }
    attributes = signal["body"]["spec"]["resourceAttributes"]
    assert (attributes["resource"], attributes["subresource"], attributes["verb"]) == (
        "pods",
        "ephemeralcontainers",
        "patch",
    )


def test_account_is_the_user_that_the_controller_is(server: Server) -> None:
    server.answers = [(201, {"status": {"userInfo": {"username": "someone"}}}), (403, {})]
    pods = server.broker_pods()
    assert (pods.account(), pods.account()) == ("someone", "")
    assert server.asked[0]["path"] == "/apis/authentication.k8s.io/v1/selfsubjectreviews"
