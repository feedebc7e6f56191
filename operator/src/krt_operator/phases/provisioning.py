"""Provisioning: preflight, recorder, members, topics; all of it checked before traffic starts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from krt_contract.control import ControlState
from krt_operator import names
from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.build.members import build_budgets, build_members
from krt_operator.build.shared import (
    PREFLIGHT_ROLES,
    build_control_map,
    build_evidence_claim,
    build_preflight_pods,
    build_scripts_map,
    build_service_accounts,
)
from krt_operator.build.traffic import build_recorder_pod
from krt_operator.constants import BUSY
from krt_operator.engine import journal
from krt_operator.engine.ports import (
    Act,
    Deletion,
    Happening,
    Progress,
)
from krt_operator.errors import TransientError, UserError
from krt_operator.health import cluster, pod_state
from krt_operator.phases.evidence_claim import awaited
from krt_operator.phases.pending import OWN_CLAIM
from krt_operator.phases.preflight import judge
from krt_operator.plan.internal_topics import internal_topics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_contract.entries import Topic
    from krt_operator.engine.ports import (
        Change,
        Json,
        Observed,
        Ports,
        Run,
    )
    from krt_operator.plan.plan import Plan


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """One look at how far the run's objects stand.

    Raises:
        UserError: an image, the evidence volume, or time ran out; the message says which and why.
    """
    plan = run.plan
    if plan is None:
        raise TransientError(f"ConfigMap {names.plan(run.name)} is not there (yet)")
    pod_state.check_images(world.pods.values(), world.at, image_fields(plan))
    pull = ports.settings.image_pull_policy
    wanted = [build_scripts_map(plan, pull), *build_service_accounts(plan)]
    if names.control(plan.name) not in world.config_maps:
        wanted.append(build_control_map(plan, ControlState.PRODUCE))

    recording = world.pods.get(names.recorder_pod(plan.name))
    if recording is None:
        return _check_first(run, plan, world, ports, wanted)
    cleared = _preflight_gone(world, plan)
    if not pod_state.running(recording):
        # First of all: what happens before it is up, nobody has seen.
        return replace(_wait(run, world, "waiting for the recorder", wanted), delete=cleared)

    wanted += [*build_budgets(plan), *build_members(plan, pull)]
    lacking = cluster.not_ready(plan, world)
    if lacking:
        return replace(_wait(run, world, lacking, wanted), delete=cleared)
    return _join(run, world, ports, wanted)


def _check_first(
    run: Run, plan: Plan, world: Observed, ports: Ports, wanted: Sequence[Json]
) -> Progress:
    settings = ports.settings
    pull = settings.image_pull_policy
    if judge(plan, world):
        told, pods = "starting the recorder", [build_recorder_pod(plan, pull)]
    elif lacks := awaited(plan, ports.cluster, _begun(run, world), world.at):
        told, pods = lacks, []
    else:
        told = "checking the evidence volume from two nodes, and the images"
        pods = build_preflight_pods(plan, pull)
    waiting = _wait(run, world, told, [*wanted, *pods])
    return replace(waiting, acts=_claim(plan, settings.evidence_storage_class))


def _join(run: Run, world: Observed, ports: Ports, wanted: list[Json]) -> Progress:
    plan = run.plan
    if plan is None:
        raise TransientError("the plan is not there (yet)")
    try:
        with ports.kafka(plan.bootstrap) as kafka:
            view = kafka.view()
            missing = cluster.not_joined(plan, view)
            if missing:
                return _wait(run, world, missing, wanted)
            known = {one.topic for one in view.partitions}
            topics = [one for one in topics_of(plan) if one.name not in known]
            if topics:
                kafka.create_topics(topics)
                told = "creating topics " + ", ".join(one.name for one in topics)
                return _wait(run, world, told, wanted)
            incomplete = cluster.not_whole(plan, view)
            if incomplete:
                return _wait(run, world, incomplete, wanted)
            racks = kafka.racks()
    except TransientError as error:
        return _wait(run, world, f"waiting for Kafka to answer: {error}", wanted)
    cluster.check_racks(plan, view, racks)
    cluster.check_hosts(plan, world)
    told = cluster.in_words(plan, world)
    return Progress(
        requeue_after=0,
        next_phase=Phase.WARMUP,
        apply=tuple(wanted),
        changes=(
            journal.say(
                ConditionType.PROVISIONED, ConditionStatus.TRUE, "ClusterReady", told, at=world.at
            ),
        ),
        events=(Happening("Provisioned", told),),
    )


def topics_of(plan: Plan) -> list[Topic]:
    """The topics under test and Kafka's own."""
    return [*internal_topics(plan), *plan.topics]


def image_fields(plan: Plan) -> dict[str, str]:
    """Image reference to what names it, for messages."""
    kafka = "spec.kafka.image" if plan.spec.kafka.image else "chart value images.kafka"
    return {
        plan.images["scoring"]: "chart value images.scoring",
        plan.images["traffic"]: "chart value images.traffic",
        plan.images["kafka"]: kafka,
    }


def _claim(plan: Plan, storage_class: str) -> tuple[Act, ...]:
    if plan.spec.evidence.claim_name != OWN_CLAIM:
        return ()

    def perform(ports: Ports) -> Sequence[Change]:
        # Created, not applied: it is shared by all runs of the namespace and none of them owns it.
        ports.cluster.create(build_evidence_claim(plan, storage_class))
        return ()

    return (Act(f"make claim {OWN_CLAIM}", perform),)


def _preflight_gone(world: Observed, plan: Plan) -> tuple[Deletion, ...]:
    pods = (world.pods.get(names.preflight_pod(plan.name, role)) for role in PREFLIGHT_ROLES)
    return tuple(
        Deletion("Pod", pod["metadata"]["name"], pod["metadata"]["uid"])
        for pod in pods
        if pod is not None and not pod_state.leaving(pod)
    )


def _begun(run: Run, world: Observed) -> datetime:
    return journal.started(run.status, Phase.PROVISIONING) or world.at


def _wait(run: Run, world: Observed, told: str, wanted: Sequence[Json]) -> Progress:
    limit = run.spec.timeouts.provisioning
    if world.at > _begun(run, world) + limit.delta:
        why = "; ".join([told, *pod_state.obstacles(world.pods.values())])
        raise UserError(
            "ProvisioningTimedOut",
            "spec.timeouts.provisioning",
            f"after {limit}: {why}; make room on the nodes, or allow more time",
        )
    said = journal.say(
        ConditionType.PROVISIONED, ConditionStatus.UNKNOWN, "Provisioning", told, at=world.at
    )
    return Progress(requeue_after=BUSY, changes=(said,), apply=tuple(wanted))
