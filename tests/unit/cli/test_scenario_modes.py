"""Scenarios in KRaft mode: what a resource becomes, and that runs of each mode stay apart."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.unit.cli.fake_kubectl import event
from tests.unit.cli.test_scenarios import CARD, MANIFEST, Place, expectation, finished
from tests.unit.operator.api.test_scenarios import ROOT, SCENARIOS, ZONES, plan

from krt_cli.scenarios.catalogue import Mode, Modes, Scenario, in_modes, scenarios
from krt_cli.scenarios.kraft import OneModeError, is_kraft, to_kraft
from krt_contract.metadata import MetadataMode
from krt_operator.api.spec import Spec
from krt_operator.errors import UserError
from krt_operator.plan.feasibility import check
from krt_operator.plan.placement import assign

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.fake_kubectl import FakeKubectl


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("KRT_EVIDENCE", raising=False)
    return Place(tmp_path)


def load(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load(path.read_text())
    return body


def resource(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "spec": spec}


def fault(role: str, action: str = "CrashPod", **target: Any) -> dict[str, Any]:
    return {"name": "down", "action": action, "target": {"role": role, **target}}


WRITTEN_IN_ZOOKEEPER_MODE = [path for path in SCENARIOS if not is_kraft(load(path))]
ZOOKEEPERS = [path for path in WRITTEN_IN_ZOOKEEPER_MODE if path.stem.startswith("zookeeper-")]
OF_BOTH_MODES = [path for path in WRITTEN_IN_ZOOKEEPER_MODE if path not in ZOOKEEPERS]


@pytest.mark.parametrize("path", ZOOKEEPERS, ids=lambda path: path.stem)
def test_scenario_that_hits_zookeeper_is_refused_with_the_fault_named(path: Path) -> None:
    with pytest.raises(OneModeError, match=r"^fault [a-z-]+ hits ZooKeeper"):
        to_kraft(load(path))


@pytest.mark.parametrize("path", OF_BOTH_MODES, ids=lambda path: path.stem)
def test_every_other_scenario_is_valid_in_kraft_mode(path: Path) -> None:
    turned = to_kraft(load(path))
    spec = Spec.model_validate(turned["spec"]).resolve()
    assert spec.kraft
    assert "zookeeper" not in json.dumps(turned["spec"]).lower()
    by_host = spec.kafka.rack.topology_key == "kubernetes.io/hostname"
    zones = [f"krt-worker{number}" for number in range(len(ZONES))] if by_host else ZONES
    nodes = {zone: zones.count(zone) for zone in sorted(set(zones))}
    if spec.expect.error is not None:
        with pytest.raises(UserError) as error:
            assign(spec, nodes)
        assert error.value.reason == spec.expect.error
        return
    planned = plan(path.stem, spec, nodes)
    check(planned)
    assert planned.metadata.mode is MetadataMode.KRAFT


def test_sample_in_kraft_mode_is_the_sample_of_that_mode() -> None:
    kraft = load(ROOT / "manifests/sample-kraft.yaml")
    assert to_kraft(load(ROOT / "manifests/sample.yaml"))["spec"] == kraft["spec"]


def test_to_kraft_leaves_the_resource_as_it_is() -> None:
    written = load(ROOT / "manifests/scenarios/slow-follower.yaml")
    before = copy.deepcopy(written)
    to_kraft(written)
    assert written == before


def test_to_kraft_keeps_session_servers_and_placement_and_spares_no_controller() -> None:
    written = resource(
        kafka={"replicas": 5, "config": {"zookeeper.session.timeout.ms": "60000", "a": "b"}},
        zookeeper={"replicas": 5, "storage": {"size": "2Gi"}},
        placement={"separateZooKeeper": "Preferred"},
        faults=[fault("PartitionFollower", excludeController=True)],
        expect={"faults": [{"name": "down", "brokerSessionExpirations": {"max": 0}}]},
    )
    assert to_kraft(written)["spec"] == {
        "kafka": {
            "replicas": 5,
            "metadata": {
                "mode": "KRaft",
                "controllers": {"replicas": 5, "storage": {"size": "2Gi"}},
            },
            "config": {"broker.session.timeout.ms": "60000", "a": "b"},
        },
        "placement": {"separateControllers": "Preferred"},
        "faults": [fault("PartitionFollower")],
        "expect": {"faults": [{"name": "down", "brokersFenced": {"max": 0}}]},
    }


def test_to_kraft_of_a_controller_crash_expects_nothing_of_the_broker_that_it_was() -> None:
    turned = to_kraft(load(ROOT / "manifests/scenarios/controller-crash.yaml"))
    assert turned["spec"]["faults"][0]["target"] == {"role": "Controller"}
    assert turned["spec"]["expect"]["faults"] == [
        {
            "name": "controller-down",
            "controllerChanges": {"min": 1, "max": 1},
            "unrelatedLeaderChanges": {"max": 0},
            "offlinePartitions": {"max": 0},
        }
    ]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (resource(faults=[fault("ZooKeeper")]), "fault down hits ZooKeeper"),
        (resource(faults=[fault("ZooKeeperLeader")]), "fault down hits ZooKeeperLeader"),
        (resource(faults=[fault("Controller", "LoseDisk")]), "disk of a controller"),
        (
            resource(expect={"faults": [{"name": "f", "zookeeperLeaderChanges": {"max": 0}}]}),
            "expect.faults f: zookeeperLeaderChanges",
        ),
        (resource(zookeeper={"config": {"tickTime": "1000"}}), "spec.zookeeper.config"),
        (
            resource(kafka={"config": {"zookeeper.connection.timeout.ms": "1"}}),
            "zookeeper.connection.timeout.ms, a setting of ZooKeeper mode",
        ),
        (resource(kafkaRef={}), "spec.kafkaRef"),
    ],
)
def test_to_kraft_refuses_what_has_no_equal_and_says_why(
    written: dict[str, Any], reason: str
) -> None:
    with pytest.raises(OneModeError) as error:
        to_kraft(written)
    assert reason in str(error.value)


ZOOKEEPER_ONLY = MANIFEST + yaml.safe_dump({"spec": {"faults": [fault("ZooKeeper")]}})
KRAFT_ONLY = MANIFEST + yaml.safe_dump({"spec": {"kafka": {"metadata": {"mode": "KRaft"}}}})


def test_scenario_in_kraft_mode_has_an_id_digest_and_key_of_its_own(place: Place) -> None:
    place.add("one")
    (written,) = scenarios(place.manifests)
    turned = written.in_mode(Mode.KRAFT)
    assert (written.id, turned.id, turned.name) == ("one", "one.kraft", "one")
    assert written.digest != turned.digest
    images = place.state / "images.values.yaml"
    assert written.key(images) == place.key("one") != turned.key(images)
    assert turned.in_mode(Mode.ZOOKEEPER) == written
    assert written.manifest() == MANIFEST
    assert turned.manifest().startswith("# A broker crashes\n# and returns.\n")
    assert is_kraft(yaml.safe_load(turned.manifest()))


def test_scenario_written_in_kraft_mode_has_that_mode_alone(place: Place) -> None:
    place.add("one", KRAFT_ONLY)
    (written,) = scenarios(place.manifests)
    assert written.in_every_mode() == [written]
    assert (written.id, written.mode, written.manifest()) == ("one", Mode.KRAFT, KRAFT_ONLY)


def test_in_modes_runs_both_of_a_scenario_next_to_each_other(place: Place) -> None:
    for name, text in (("both", MANIFEST), ("kraft", KRAFT_ONLY), ("zk", ZOOKEEPER_ONLY)):
        place.add(name, text)
    every = scenarios(place.manifests)

    def ids(modes: Modes) -> list[str]:
        return [item.id for item in in_modes(every, modes, named=False)]

    assert ids(Modes.ZOOKEEPER) == ["both", "zk"]
    assert ids(Modes.KRAFT) == ["both.kraft", "kraft"]
    assert ids(Modes.BOTH) == ["both", "both.kraft", "kraft", "zk"]


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        (ZOOKEEPER_ONLY, "kraft", "fault down hits ZooKeeper"),
        (KRAFT_ONLY, "zookeeper", "its resource is one of KRaft mode"),
    ],
)
def test_run_of_a_named_scenario_without_the_mode_is_refused_with_reason_and_remedy(
    place: Place, capsys: pytest.CaptureFixture[str], text: str, mode: str, why: str
) -> None:
    place.add("one", text)
    other = "zookeeper" if mode == "kraft" else "kraft"
    for command in (("run", "--list"), ("results", "check"), ("manifest",)):
        assert place.run(*command, "one", "--mode", mode) == 4
        printed = capsys.readouterr().err
        assert f"scenario one does not run in {mode} mode: {why}" in " ".join(printed.split())
        assert f"run it with --mode {other}" in printed
    assert place.run("run", "--list", "--mode", mode) == 0
    assert place.run("run", "--list", "one", "--mode", "both") == 0
    assert capsys.readouterr().out.startswith("one 0 stored, 1 requested; modes: ")


def test_list_names_the_modes_of_each_scenario(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    place.add("zk", ZOOKEEPER_ONLY)
    place.ran("one", 1, key=place.key("one"))
    assert place.run("run", "--list", "--mode", "both") == 0
    assert capsys.readouterr().out.splitlines() == [
        "one 1 stored, 1 requested; modes: zookeeper, kraft",
        "one.kraft 0 stored, 1 requested; modes: zookeeper, kraft",
        "zk 0 stored, 1 requested; modes: zookeeper",
    ]


def cluster(kubectl: FakeKubectl, place: Place, name: str, namespace: str, **card: Any) -> None:
    """Answer as a cluster on which the scenario runs to its end at once."""
    home = place.state / "evidence/pvc-1" / namespace / name / f"uid-{name}"
    home.mkdir(parents=True)
    (home / "scorecard.json").write_text(json.dumps(CARD | card))
    test = finished(name)
    kubectl.answers(f"{namespace} get krt --watch", event(test), stay=True, always=True)
    kubectl.answers(f"{namespace} get krt", json.dumps(test), always=True)


def test_run_in_kraft_mode_applies_the_turned_resource_and_stores_it_apart(
    place: Place, kubectl: FakeKubectl
) -> None:
    place.add("one")
    place.ran("one", 1, key=place.key("one"))
    cluster(kubectl, place, "one", "krt-scenario-one-kraft-1")
    assert place.run("run", "one", "--mode", "kraft") == 0
    (written,) = scenarios(place.manifests)
    turned = written.in_mode(Mode.KRAFT)
    key = turned.key(place.state / "images.values.yaml")
    folder = place.store / "one.kraft" / key / "uid-one"
    assert (folder / "one.yaml").read_text() == turned.manifest()
    assert kubectl.calls()[1] == "create namespace krt-scenario-one-kraft-1"
    assert (kubectl.home / "stdin").read_text() == turned.manifest()
    kept = sorted(path.name for path in (place.docs / "results").iterdir())
    assert kept == ["one.json", "one.kraft.json"]
    # What is stored of either mode is not run again.
    calls = len(kubectl.calls())
    assert place.run("run", "one", "--mode", "both") == 0
    assert len(kubectl.calls()) == calls


def test_check_of_both_modes_passes_only_if_both_met_what_is_expected(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add("one")
    (written,) = scenarios(place.manifests)
    key = written.in_mode(Mode.KRAFT).key(place.state / "images.values.yaml")
    place.ran("one", 1, key=place.key("one"))
    assert place.run("results", "check") == 0
    assert place.run("results", "check", "--mode", "both") == 1
    assert "one.kraft: has not been run" in capsys.readouterr().out
    place.ran("one.kraft", 2, key=key, manifest="one", expectationResults=[expectation("NotMet")])
    for modes, code in (("zookeeper", 0), ("kraft", 1), ("both", 1)):
        assert place.run("results", "check", "--mode", modes) == code
        assert place.run("run", "--check", "--mode", modes) == code
    assert "one.kraft: not met" in capsys.readouterr().out


def test_results_of_kraft_mode_do_not_change_those_of_zookeeper_mode(place: Place) -> None:
    place.add("one")
    place.ran("one", 1)
    place.write()
    table, page = place.table(), place.page("one")
    place.forget()
    turned = Scenario(place.manifests / "one.yaml", turned=True).manifest()
    failed = [expectation("NotMet")]
    place.ran("one.kraft", 2, manifest="one", text=turned, expectationResults=failed)
    place.write()
    assert place.table() == table
    assert place.page("one") == page
    assert "**Outcome of the last run: not met.**" in place.page("one.kraft")


def test_manifest_prints_what_is_applied(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.add("one")
    assert place.run("manifest", "one") == 0
    assert capsys.readouterr().out == MANIFEST
    assert place.run("manifest", "one", "--mode", "kraft") == 0
    turned = Scenario(place.manifests / "one.yaml", turned=True)
    assert capsys.readouterr().out == turned.manifest()
