"""Copying evidence and report: the commands that a reader pod would execute run here for real."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import webbrowser
from typing import TYPE_CHECKING, Any

import pytest

from krt_cli.errors import CouldNotRunError, ExitCode
from krt_cli.evidence import sums
from krt_cli.evidence.place import Claim
from krt_cli.evidence.reader import Wanted, obstacle, pod
from krt_cli.main import run
from krt_cli.resource import Test
from krt_contract.stores.settings import ObjectStoreSettings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.fake_kubectl import FakeKubectl

UID = "11111111-2222-3333-4444-555555555555"
PATH = f"ns/sample/{UID}"
TEST: dict[str, Any] = {
    "metadata": {
        "name": "sample",
        "namespace": "ns",
        "uid": UID,
        "creationTimestamp": "2026-11-21T04:00:00Z",
    },
    "spec": {
        "evidence": {"claimName": "mine"},
        "podTemplate": {
            "imagePullSecrets": [{"name": "pull"}],
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {"fsGroup": 2000},
        },
    },
    "status": {"phase": "Completed", "verdict": "Passed", "report": {"path": PATH}},
}
CONTROLLER = {
    "metadata": {"namespace": "krt-system", "name": "krt"},
    "spec": {
        "template": {
            "spec": {"containers": [{"image": "here/operator:1", "imagePullPolicy": "Always"}]}
        }
    },
}


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """An evidence volume with one bundle."""
    root = tmp_path / "volume"
    bundle = root / PATH
    for name, content in {
        "run.json": json.dumps({"bundle": PATH}).encode(),
        "produce/idem-0.parquet": bytes(range(256)) * 5000,
        "logs/kafka 0.log": b"a line\n",
        "timeline/recorder.jsonl.tmp": b"not closed",
        "report.html": b"<html>",
        "junit.xml": b"<testsuites/>",
        "summary.md": b"## Passed",
        "scorecard.json": b"{}",
    }.items():
        file = bundle / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return root


def serve(kubectl: FakeKubectl, volume: Path, cut: int = 0) -> None:
    kubectl.answers("get krt sample", json.dumps(TEST), always=True)
    kubectl.answers("get configmap sample-plan", always=True)
    kubectl.answers("get deployments", json.dumps({"items": [CONTROLLER]}), always=True)
    kubectl.answers("create --filename -")
    kubectl.answers("wait", always=True)
    kubectl.answers("delete pod", always=True)
    if cut:
        kubectl.answers("exec sh", volume=str(volume))
        kubectl.answers("exec tar", volume=str(volume), cut=cut)
    kubectl.answers("exec", volume=str(volume), always=True)


def test_evidence_copies_every_closed_file_and_deletes_the_pod(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(kubectl, volume)
    folder = tmp_path / "copy"
    assert run(["evidence", "sample", "-o", str(folder), "-n", "ns"]) == 0
    copied = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert copied == {
        "SHA256SUMS",
        "junit.xml",
        "logs/kafka 0.log",
        "produce/idem-0.parquet",
        "report.html",
        "run.json",
        "scorecard.json",
        "summary.md",
    }
    source = volume / PATH / "produce/idem-0.parquet"
    assert (folder / "produce/idem-0.parquet").read_bytes() == source.read_bytes()
    assert sums.verify(folder) == 3
    assert "7 files, 1.3 MB, checksums verified" in capsys.readouterr().out
    created = kubectl.calls()[3].split()
    assert created[2] == "create"
    assert kubectl.calls()[-1].split()[2:4] == ["delete", "pod"]


def test_evidence_transfer_that_is_cut_is_asked_for_again(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path
) -> None:
    serve(kubectl, volume, cut=600_000)
    folder = tmp_path / "copy"
    assert run(["evidence", "sample", "-o", str(folder)]) == 0
    assert sum(" tar " in call for call in kubectl.calls()) == 2
    assert not list(folder.rglob("*.part"))
    assert sums.verify(folder) == 3


def test_evidence_transfer_that_fails_each_time_gives_kubectls_words(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("exec tar", code=1, stderr="connection reset", always=True)
    serve(kubectl, volume)
    assert run(["evidence", "sample", "-o", str(tmp_path / "copy")]) == ExitCode.COULD_NOT_RUN
    error = capsys.readouterr().err
    assert "7 files did not arrive" in error
    assert "connection reset" in error
    assert sum(" tar " in call for call in kubectl.calls()) == 3
    assert "delete pod" in kubectl.calls()[-1]


def test_evidence_file_that_arrives_with_other_content_is_refused_and_not_kept(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(volume, other)
    (other / PATH / "logs/kafka 0.log").write_bytes(b"b line\n")
    kubectl.answers("exec tar", volume=str(other), always=True)
    serve(kubectl, volume)
    folder = tmp_path / "copy"
    assert run(["evidence", "sample", "-o", str(folder)]) == ExitCode.COULD_NOT_RUN
    assert "1 files did not arrive" in capsys.readouterr().err
    assert (folder / "run.json").exists()
    assert not (folder / "logs/kafka 0.log").exists()
    assert not (folder / "SHA256SUMS").exists()


def test_evidence_copied_before_is_not_copied_again(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path
) -> None:
    serve(kubectl, volume)
    folder = tmp_path / "copy"
    assert run(["evidence", "sample", "-o", str(folder)]) == 0
    kubectl.answers("create --filename -")
    assert run(["evidence", "sample", "-o", str(folder)]) == 0
    assert sum(" tar " in call for call in kubectl.calls()) == 1


def test_evidence_copied_while_the_test_ran_has_no_row_twice(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path
) -> None:
    closed = volume / PATH / "produce/idem-0.parquet"
    still_open = closed.rename(closed.with_name("idem-0-open.parquet"))
    serve(kubectl, volume)
    folder = tmp_path / "copy"
    assert run(["evidence", "sample", "-o", str(folder)]) == 0
    still_open.rename(closed)
    kubectl.answers("create --filename -")
    assert run(["evidence", "sample", "-o", str(folder)]) == 0
    assert [path.name for path in (folder / "produce").iterdir()] == [closed.name]


def test_evidence_whose_copy_was_interrupted_at_once_goes_on(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs/kafka 0.log.part").write_bytes(b"a l")
    serve(kubectl, volume)
    assert run(["evidence", "sample", "-o", str(folder)]) == 0
    asked = sorted(kubectl.home.glob("stdin-*"))[1].read_text()
    assert asked.splitlines()[0] == "run.json"


def test_evidence_that_cannot_be_written_says_so(
    kubectl: FakeKubectl,
    volume: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("krt_cli.evidence.transfer._unpack", full)
    serve(kubectl, volume)
    assert run(["evidence", "sample", "-o", str(tmp_path / "copy")]) == ExitCode.COULD_NOT_RUN
    assert "No space left on device" in capsys.readouterr().err


def test_report_of_a_run_without_one_is_not_that_of_an_earlier_run(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(kubectl, volume)
    folder = tmp_path / "report"
    assert run(["report", "sample", "-o", str(folder)]) == 0
    for name in ("report.html", "scorecard.json", "junit.xml", "summary.md"):
        (volume / PATH / name).unlink()
    kubectl.answers("create --filename -")
    assert run(["report", "sample", "-o", str(folder)]) == ExitCode.COULD_NOT_RUN
    assert "has no report" in capsys.readouterr().err
    assert list(folder.iterdir()) == []
    (folder / "report.html").write_text("of an earlier run")
    arguments = ["report", "sample", "-o", str(folder), "--evidence", str(volume)]
    assert run(arguments) == ExitCode.COULD_NOT_RUN


def test_evidence_into_a_folder_of_other_things_is_refused(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(kubectl, volume)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.txt").write_text("mine")
    assert run(["evidence", "sample", "-o", str(tmp_path / "full")]) == ExitCode.COULD_NOT_RUN
    assert "name an empty folder" in capsys.readouterr().err


def test_evidence_of_a_bundle_that_is_not_there_names_the_claim_and_deletes_the_pod(
    kubectl: FakeKubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(kubectl, tmp_path)
    assert run(["evidence", "sample", "-o", str(tmp_path / "copy")]) == ExitCode.COULD_NOT_RUN
    assert "cannot be listed" in capsys.readouterr().err
    assert "delete pod" in kubectl.calls()[-1]


def test_evidence_pod_that_does_not_start_says_why(
    kubectl: FakeKubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    kubectl.answers("get krt sample", json.dumps(TEST))
    kubectl.answers("create --filename -")
    kubectl.answers("wait", code=1, stderr="timed out")
    kubectl.answers("get pod", json.dumps({"status": {"containerStatuses": [{"state": waiting}]}}))
    kubectl.answers("delete pod")
    arguments = ["evidence", "sample", "-o", str(tmp_path / "copy"), "--image", "x:1"]
    assert run(arguments) == ExitCode.COULD_NOT_RUN
    error = capsys.readouterr().err
    assert "ImagePullBackOff: no such image" in error
    assert "--image" in error
    assert "delete pod" in kubectl.calls()[-1]


def test_evidence_without_a_controller_to_be_seen_asks_for_an_image(
    kubectl: FakeKubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("get krt sample", json.dumps(TEST))
    kubectl.answers("get deployments", code=1, stderr="forbidden")
    assert run(["evidence", "sample", "-o", str(tmp_path / "copy")]) == ExitCode.COULD_NOT_RUN
    assert "--image" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "image"), [({"claimName": "mine"}, "here/operator:1"), (None, "here/traffic:1")]
)
def test_report_is_read_with_an_image_that_the_test_ran(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, place: dict[str, Any] | None, image: str
) -> None:
    images = {"operator": "here/operator:1", "traffic": "here/traffic:1"}
    plan = json.dumps({"spec": {"evidence": place or {"objectStore": STORE}}, "images": images})
    kubectl.answers("get configmap sample-plan", json.dumps({"data": {"plan.json": plan}}))
    kubectl.answers("get deployments", code=1, stderr="forbidden")
    serve(kubectl, volume)
    assert run(["report", "sample", "-o", str(tmp_path / "out"), "-n", "ns"]) == 0
    spec = json.loads((kubectl.home / "stdin-0").read_text())["spec"]
    assert spec["containers"][0]["image"] == image
    assert not any("deployments" in call for call in kubectl.calls())


def test_report_copies_the_results_and_opens_the_report(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def show(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", show)
    serve(kubectl, volume)
    folder = tmp_path / "report"
    assert run(["report", "sample", "-o", str(folder), "--open"]) == 0
    assert {path.name for path in folder.iterdir()} == {
        "report.html",
        "junit.xml",
        "scorecard.json",
        "summary.md",
    }
    assert opened == [(folder / "report.html").resolve().as_uri()]


def test_report_of_a_volume_on_this_machine_needs_no_pod(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path
) -> None:
    kubectl.answers("get krt sample", json.dumps(TEST))
    arguments = ["report", "sample", "-o", str(tmp_path / "out"), "--evidence", str(volume)]
    assert run(arguments) == 0
    assert (tmp_path / "out/report.html").read_bytes() == b"<html>"
    assert len(kubectl.calls()) == 1


def test_report_of_a_test_that_was_not_scored_says_what_to_do(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (volume / PATH / "report.html").unlink()
    serve(kubectl, volume)
    assert run(["report", "sample", "-o", str(tmp_path / "out")]) == ExitCode.COULD_NOT_RUN
    assert "krt explain sample" in capsys.readouterr().err


def test_report_of_a_bundle_without_a_closed_file_says_what_to_do(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (volume / PATH).rglob("*"):
        if file.is_file() and file.suffix != ".tmp":
            file.unlink()
    serve(kubectl, volume)
    assert run(["report", "sample", "-o", str(tmp_path / "out")]) == ExitCode.COULD_NOT_RUN
    assert "krt explain sample" in capsys.readouterr().err


def test_reader_pod_is_read_only_and_restricted_and_placed_as_the_tests_own() -> None:
    wanted = Wanted(Claim("mine"), PATH)
    spec = pod(Test(TEST), wanted, "reader", "x:1", "IfNotPresent")["spec"]
    (container,) = spec["containers"]
    assert container["volumeMounts"] == [
        {"name": "evidence", "mountPath": "/evidence", "readOnly": True}
    ]
    (found,) = spec["volumes"]
    assert found["persistentVolumeClaim"] == {"claimName": "mine", "readOnly": True}
    assert spec["automountServiceAccountToken"] is False
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["fsGroup"] == 2000
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


STORE = {
    "bucket": "evidence",
    "endpoint": "http://store.krt-system.svc:9000",
    "region": "us-east-1",
    "prefix": "team",
    "pathStyle": True,
    "credentials": {"secretName": "sample-store-11111111"},
}


def test_evidence_in_an_object_store_is_copied_into_the_pod_first(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path
) -> None:
    plan = json.dumps({"spec": {"evidence": {"objectStore": STORE}}})
    kubectl.answers("get configmap sample-plan", json.dumps({"data": {"plan.json": plan}}))
    serve(kubectl, volume)
    assert run(["report", "sample", "-o", str(tmp_path / "out"), "-n", "ns"]) == 0
    spec = json.loads((kubectl.home / "stdin-0").read_text())["spec"]
    (download,), (reader,) = spec["initContainers"], spec["containers"]
    assert spec["volumes"] == [{"name": "evidence", "emptyDir": {}}]
    assert download["command"][:5] == [
        *("python3", "-m", "krt_traffic.download"),
        *(PATH, f"/evidence/{PATH}"),
    ]
    assert "report.html" in download["command"]
    plain = {item["name"]: item["value"] for item in download["env"] if "value" in item}
    found = ObjectStoreSettings.read(plain)
    assert found is not None
    assert found.path("") == "evidence/team"
    assert [item["valueFrom"]["secretKeyRef"]["name"] for item in download["env"][-2:]] == [
        "sample-store-11111111"
    ] * 2
    assert reader["securityContext"] == download["securityContext"]


def test_evidence_in_a_store_with_a_ca_and_without_keys_is_read_as_the_test_did(
    kubectl: FakeKubectl, volume: Path, tmp_path: Path
) -> None:
    own = {"bucket": "evidence", "ca": {"secretName": "minio-ca", "key": "root.pem"}}
    plan = json.dumps({"spec": {"evidence": {"objectStore": own}}})
    kubectl.answers("get configmap sample-plan", json.dumps({"data": {"plan.json": plan}}))
    serve(kubectl, volume)
    assert run(["report", "sample", "-o", str(tmp_path / "out"), "-n", "ns"]) == 0
    spec = json.loads((kubectl.home / "stdin-0").read_text())["spec"]
    (download,) = spec["initContainers"]
    secret = {"secretName": "minio-ca", "items": [{"key": "root.pem", "path": "ca.crt"}]}
    assert spec["volumes"][1] == {"name": "store-ca", "secret": secret}
    assert download["volumeMounts"][1]["mountPath"] == "/etc/krt/store-ca"
    found = ObjectStoreSettings.read({item["name"]: item["value"] for item in download["env"]})
    assert found is not None
    assert found.ca_file == "/etc/krt/store-ca/ca.crt"
    assert spec["serviceAccountName"] == "sample-evidence"
    assert spec["automountServiceAccountToken"] is False


def test_obstacle_of_a_pod_that_could_not_copy_is_what_the_store_said() -> None:
    ended = {"terminated": {"exitCode": 1, "message": "AccessDenied\n"}}
    assert obstacle({"status": {"initContainerStatuses": [{"state": ended}]}}) == "AccessDenied"


def test_evidence_of_a_test_without_a_plan_in_the_store_of_the_chart_is_not_there(
    kubectl: FakeKubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = {**TEST, "spec": {"evidence": {"objectStore": {}}}}
    kubectl.answers("get krt sample", json.dumps(test), always=True)
    kubectl.answers("get configmap sample-plan")
    assert run(["evidence", "sample", "-o", str(tmp_path / "copy")]) == ExitCode.COULD_NOT_RUN
    assert "has no plan, so it has no evidence" in capsys.readouterr().err


def test_obstacle_of_a_pod_that_is_not_scheduled_is_the_schedulers_message() -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    assert obstacle({"status": {"conditions": [condition]}}) == "0/3 nodes are available"
    assert not obstacle({})


@pytest.mark.parametrize(("content", "message"), [(None, "is missing"), (b"other", "differs")])
def test_verify_of_changed_evidence_names_the_file(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    digest = hashlib.sha256(b"content").hexdigest()
    (tmp_path / "SHA256SUMS").write_text(f"{digest}  run.json\n{digest}  scorecard.json\n")
    if content:
        (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(CouldNotRunError, match=f"run.json {message}"):
        sums.verify(tmp_path)
