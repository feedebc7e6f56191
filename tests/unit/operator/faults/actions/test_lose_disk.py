"""LoseDisk: the process is killed, the volume is replaced."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import (
    LEADER,
    entry,
    kinds,
    play,
    play_until_active,
    times,
)

from krt_operator.api.status import ObservationKind

if TYPE_CHECKING:
    import pytest

LOSE = LEADER | {"action": "LoseDisk", "delay": "0s"}


def test_lose_disk_kills_the_process_and_replaces_the_volume() -> None:
    sim = SimulatedCluster([LOSE])
    before = {name: claim["metadata"]["uid"] for name, claim in sim.claims.items()}
    play(sim)
    fault = entry(sim, "leader-down")
    assert (sim.kills, sim.wiped) == (["t-kafka-0-0"], ["kafka-0"])
    assert fault.targets[0].claim_uid == before["t-kafka-0-data"]
    changed = [n for n, claim in sim.claims.items() if claim["metadata"]["uid"] != before[n]]
    assert changed == ["t-kafka-0-data"]
    assert kinds(sim, "leader-down") >= {
        ObservationKind.PROCESS_KILLED,
        ObservationKind.VOLUME_GONE,
        ObservationKind.VOLUME_REPLACED,
    }
    assert fault.verified
    at = times(sim, "leader-down")
    assert timedelta(seconds=20) <= at.reverted - at.injected <= timedelta(seconds=22)
    assert sim.status.inconclusive_reasons == ()


def test_lose_disk_without_duration_waits_for_the_new_volume() -> None:
    sim = SimulatedCluster([LOSE | {"duration": "0s"}])
    play_until_active(sim)
    # The claim is being deleted, and stays while the pod uses it.
    assert sim.sets["t-kafka-0"] == 0
    play(sim)
    assert sim.wiped == ["kafka-0"]
    assert entry(sim, "leader-down").verified
    assert sim.sets["t-kafka-0"] == 1


def test_lose_disk_slow_claim_delays_the_revert_and_is_not_counted_as_interruption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim = SimulatedCluster([LOSE | {"duration": "0s"}])
    release_claims = sim.release_claims
    slow_until = sim.time + timedelta(seconds=30)
    monkeypatch.setattr(
        sim, "release_claims", lambda: release_claims() if sim.time > slow_until else None
    )
    play(sim)
    at = times(sim, "leader-down")
    assert at.reverted - at.injected > timedelta(seconds=25)
    assert sim.status.inconclusive_reasons == ()


def test_lose_disk_whose_claim_another_pod_keeps_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sim = SimulatedCluster([LOSE])
    monkeypatch.setattr(sim, "release_claims", lambda: None)
    play(sim)
    at = times(sim, "leader-down")
    assert timedelta(seconds=120) <= at.reverted - at.injected <= timedelta(seconds=125)
    codes = {reason.code: reason.message for reason in sim.status.inconclusive_reasons}
    assert "OperatorInterrupted" not in codes
    assert "kubectl describe pvc t-kafka-0-data names the pod" in codes["RevertFailed"]
    assert sim.sets["t-kafka-0"] == 1
