"""Deleting a test in any phase leaves no object of it, evidence aside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from kit.run import Run, small
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e

DELETED_IN = ("Provisioning", "Warmup", "Injecting", "Draining", "DumpingReplicas", "Scoring")
GONE_WITHIN = 60
"""Seconds; the promise of the documentation."""


PARALLEL = 3
"""Runs at the same time: a node carries that many brokers, and no time of theirs is judged."""

REACHED_WITHIN = PARALLEL * 240
"""Seconds to a phase: the runs start one after another."""


@pytest.mark.long
def test_run_deleted_in_each_phase_leaves_no_object(kubectl: Kubectl) -> None:
    with ThreadPoolExecutor(PARALLEL) as pool:
        deleted = [pool.submit(delete_in, phase, kubectl) for phase in DELETED_IN]
    for future in deleted:
        future.result()


def delete_in(phase: str, kubectl: Kubectl) -> None:
    evidence = {"compareReplicas": phase == "DumpingReplicas"}
    run = Run.apply(kubectl, small(f"deleted-in-{phase.lower()}", evidence=evidence))
    run.reach(phase, REACHED_WITHIN)
    kubectl("delete", "krt", run.name, "--wait=false")
    wait_until(
        lambda: not run.remaining(),
        GONE_WITHIN,
        lambda: f"{run.name} deleted; remaining: {run.remaining()}",
    )
    assert kubectl("get", "krt", run.name, "--ignore-not-found") == ""


def test_run_aborted_deletes_its_members(kubectl: Kubectl) -> None:
    run = Run.apply(kubectl, small("aborted"))
    run.reach("Warmup")
    kubectl("patch", "krt", run.name, "--type=merge", "-p", '{"spec":{"abort":true}}')
    status = run.finish(120)
    assert (status["phase"], status["verdict"]) == ("Aborted", "Inconclusive")
    assert not [name for name in run.remaining() if name.startswith(("statefulset", "pod/"))]
