"""The sample in KRaft mode and secured, with a crash of the active controller after a leader's.

Its evidence goes into the object store of the chart; `krt evidence` copies it out.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from kit.run import ROOT, Run, score
from kit.secured import leaks_of, secrets_of, secured

if TYPE_CHECKING:
    from pathlib import Path

    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def run(module_kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Run:
    sample = secured("manifests/sample-kraft.yaml", "controller-down", "Controller")
    sample["spec"]["evidence"] = {"objectStore": {}}
    kraft = Run.apply(module_kubectl, sample)
    kraft.finish()
    return kraft.copied(tmp_path_factory.mktemp("evidence"))


def test_kraft_passes_with_every_fault_verified(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    kinds = run.verified_kinds()
    assert {"ProcessKilled", "BrokerFenced", "LeaderMoved"} <= kinds["leader-down"], kinds
    assert {"ProcessKilled", "ControllerMoved"} <= kinds["controller-down"], kinds


def test_kraft_crashed_controller_is_replaced_by_another_in_the_metadata_log(run: Run) -> None:
    [crashed] = run.status["faults"][1]["targets"]
    [injected] = [
        event["at"]
        for event in run.timeline("fault")
        if (event["event"], event["subject"]) == ("injected", "controller-down")
    ]
    elected = [event for event in run.timeline("controller") if event["event"] == "elected"]
    assert {event["detail"]["from"] for event in elected} == {"metadata-log"}
    # Each election is recorded once. There may be several as the quorum starts, and again after the
    # crash: the next leader may be slow, or the crashed one comes back with a later epoch.
    epochs = [event["detail"]["epoch"] for event in elected]
    assert epochs == sorted(set(epochs)), elected
    before = [event for event in elected if event["at"] < injected][-1]
    after = next(event for event in elected if event["at"] >= injected)
    assert int(before["subject"]) % 100 == int(crashed["member"].removeprefix("controller-"))
    assert after["subject"] != before["subject"]


def test_kraft_run_json_has_the_version_that_the_members_ran(run: Run) -> None:
    versions = (ROOT / "hack/versions.env").read_text()
    (expected,) = re.findall(r"^KAFKA_KRAFT_VERSION=(.*)$", versions, re.MULTILINE)
    document = json.loads((run.bundle / "run.json").read_text())
    assert document["versions"]["kafka"] == expected


def test_kraft_scored_on_this_machine_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    card = tmp_path / "scorecard.json"
    score(run.bundle, card)
    assert card.read_bytes() == (run.bundle / "scorecard.json").read_bytes()


def test_secrets_are_in_no_evidence_and_in_no_object_but_their_secret(run: Run) -> None:
    assert sorted(secrets_of(run)) == ["kafka-clients", "kafka-members", "store"]
    assert leaks_of(run) == []


def test_secured_brokers_say_which_listeners_they_have_and_who_has_rights(run: Run) -> None:
    logs = run.member_logs("kafka")
    # Four pods: one of three brokers was crashed and started again.
    assert len(logs) >= 4
    for text in logs:
        assert "CLIENTS:SASL_SSL,PEERS:SSL,PROBE:PLAINTEXT,CONTROLLER:SSL" in text
        assert "StandardAuthorizer" in text
        assert "storedKey" not in text
