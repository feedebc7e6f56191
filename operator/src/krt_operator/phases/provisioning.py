"""Provisioning: preflight and members, recorder, topics; all are checked before the warm-up.

Members start beside the preflight, which takes as long as binding their volumes. There are topics
only once the recorder runs: what members do before that, it reads from their logs and from the
metadata. Producers and consumers start with the topics. A cluster that somebody else runs has no
members; `krt_operator.phases.reference` has its topics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from krt_contract.control import ControlState
from krt_operator import names
from krt_operator.api.conditions import find_condition
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
from krt_operator.build.traffic import build_recorder_pod, build_traffic_pod, traffic_pods
from krt_operator.constants import BUSY
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, Event, Progress, SideEffect
from krt_operator.errors import TransientError
from krt_operator.health import cluster, pod_state
from krt_operator.health.broker_settings import (
    describe_unknown_settings,
    find_unknown_settings,
)
from krt_operator.health.cluster_security import check_security
from krt_operator.health.member_startup import FAILING, check_startup, find_startup_failures
from krt_operator.health.quorum import with_quorum
from krt_operator.phases.pending import OWN_CLAIM
from krt_operator.phases.preflight import passed, unbound_claim
from krt_operator.phases.reference import join_reference
from krt_operator.phases.topics import create_missing_topics
from krt_operator.phases.waiting import provisioning_began, wait_for_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import Json
    from krt_operator.health.member_startup import StartupFailure

UNKNOWN_SETTING: Final = "UnknownSetting"
"""Reason of SettingsRecognized, and of the event, where the brokers ignore a setting."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Create what is missing and check what is there.

    Raises:
        UserError: an image or the place of the evidence cannot be used, a member cannot start, or
            time ran out.
    """
    plan = run.plan
    if plan is None:
        raise TransientError(f"ConfigMap {names.plan(run.name)} does not exist yet")
    pod_state.check_images(observed.pod_views(), observed.at, image_fields(plan))
    settings = ports.settings
    pull = settings.image_pull_policy
    accounts = build_service_accounts(plan, settings.role_kind, settings.test_account_annotations)
    desired = [build_scripts_map(plan, pull), *accounts]
    if names.control(plan.name) not in observed.config_maps:
        desired.append(build_control_map(plan, ControlState.WAIT))

    members = [*build_budgets(plan), *build_members(plan, pull)]
    failures = find_startup_failures(plan, observed)
    recorder_pod = observed.pod(names.recorder_pod(plan.name))
    if recorder_pod is None:
        message, pods = _preflight(run, plan, observed, ports)
        desired += [*pods, *members] if pods else []
        progress = _wait(run, observed, failures, message, desired)
        return replace(progress, side_effects=_claim(plan, settings.evidence_storage_class))
    desired += members
    if not recorder_pod.running:
        message = "; ".join(["waiting for the recorder", *pod_state.obstacles([recorder_pod])])
        progress = _wait(run, observed, failures, message, desired)
    elif plan.metadata.referenced:
        progress = join_reference(run, plan, observed, ports, desired)
    elif not_ready := cluster.not_ready(plan, observed, failures):
        progress = _wait(run, observed, failures, not_ready, desired)
    else:
        progress = _join(run, plan, observed, ports, desired)
    return replace(progress, delete=_preflight_deletions(observed, plan))


def _preflight(
    run: Run, plan: Plan, observed: Observed, ports: Ports
) -> tuple[str, Sequence[Json]]:
    """What is waited for, and the pods for it; none while something keeps them from starting."""
    pull = ports.settings.image_pull_policy
    began = provisioning_began(run, observed)
    if passed(plan, observed):
        return "starting the recorder", [build_recorder_pod(plan, pull)]
    unbound = unbound_claim(plan, ports.cluster, began, observed.at)
    if unbound:
        return unbound, ()
    message = "checking the place of the evidence from two nodes, and the images"
    return message, build_preflight_pods(plan, pull)


def _wait(
    run: Run,
    observed: Observed,
    failures: Sequence[StartupFailure],
    message: str,
    desired: Sequence[Json],
) -> Progress:
    """Apply what is desired and look again; report members that failed to start.

    Raises:
        UserError: a member will not start, however often it is started again.
    """
    check_startup(failures)
    if not failures:
        return wait_for_cluster(run, observed, message, desired)
    # The message is cut at its end, so what failed comes first.
    message = "; ".join([*map(str, failures), message])
    waiting = wait_for_cluster(run, observed, message, desired)
    return _report_failing(run, observed, failures[0], message, waiting)


def _report_failing(
    run: Run, observed: Observed, failure: StartupFailure, message: str, waiting: Progress
) -> Progress:
    """Say at once that a member has failed, long before it is known whether it will start."""
    condition = journal.set_condition(
        ConditionType.PROVISIONED, ConditionStatus.UNKNOWN, FAILING, message, at=observed.at
    )
    known = find_condition(run.status.conditions, ConditionType.PROVISIONED)
    reported = known is not None and known.reason == FAILING
    events = () if reported else (Event(FAILING, str(failure), warning=True),)
    return replace(waiting, changes=(condition,), events=events)


def _join(run: Run, plan: Plan, observed: Observed, ports: Ports, desired: list[Json]) -> Progress:
    try:
        with ports.connect(plan, plan.bootstrap) as kafka:
            view = with_quorum(kafka.view(), plan, ports)
            missing = cluster.not_joined(plan, view) or cluster.no_quorum(plan, view)
            if missing:
                return wait_for_cluster(run, observed, missing, desired)
            incomplete = create_missing_topics(kafka, plan, view)
            if incomplete:
                # The topics are there in less time than the clients take to start.
                desired += _missing_clients(plan, observed, ports)
                waiting = wait_for_cluster(run, observed, incomplete, desired)
                return replace(waiting, requeue_after=BUSY / 2)
            racks = kafka.racks()
            reported = kafka.broker_config(plan.brokers[0].ordinal)
            effective = kafka.topic_configs([topic.name for topic in plan.topics])
    except TransientError as error:
        return wait_for_cluster(run, observed, f"waiting for Kafka to answer: {error}", desired)
    cluster.check_racks(plan, view, racks)
    cluster.check_min_insync(plan, effective)
    check_security(plan, reported)
    cluster.check_hosts(plan, observed)
    message = cluster.placement_message(plan, observed)
    unknown = find_unknown_settings(plan.spec.kafka.config, reported)
    warning = describe_unknown_settings(unknown, reported) if unknown else ""
    return Progress(
        requeue_after=0,
        next_phase=Phase.WARMUP,
        apply=tuple(desired),
        changes=(
            journal.set_condition(
                ConditionType.PROVISIONED,
                ConditionStatus.TRUE,
                "ClusterReady",
                message,
                at=observed.at,
            ),
            _recognized(ConditionStatus.FALSE, UNKNOWN_SETTING, warning, observed)
            if warning
            else _recognized(
                ConditionStatus.TRUE,
                "AllRecognized",
                "the brokers know every setting of spec.kafka.config",
                observed,
            ),
        ),
        events=(
            *((Event(UNKNOWN_SETTING, warning, warning=True),) if warning else ()),
            Event("Provisioned", message),
        ),
    )


def _missing_clients(plan: Plan, observed: Observed, ports: Ports) -> list[Json]:
    """The producers and consumers that there are no pods of yet."""
    pull = ports.settings.image_pull_policy
    return [
        build_traffic_pod(plan, client, pull)
        for client in traffic_pods(plan)
        if client.pod not in observed.pods
    ]


def _recognized(status: ConditionStatus, reason: str, message: str, observed: Observed) -> Change:
    return journal.set_condition(
        ConditionType.SETTINGS_RECOGNIZED, status, reason, message, at=observed.at
    )


def image_fields(plan: Plan) -> dict[str, str]:
    """Image reference to the field or chart value that names it, for messages."""
    kafka = "spec.kafka.image" if plan.spec.kafka.image else "chart value images.kafka"
    return {
        plan.images["scoring"]: "chart value images.scoring",
        plan.images["traffic"]: "chart value images.traffic",
        plan.images["kafka"]: kafka,
    }


def _claim(plan: Plan, storage_class: str) -> tuple[SideEffect, ...]:
    if plan.spec.evidence.claim_name != OWN_CLAIM:
        return ()

    def perform(ports: Ports) -> Sequence[Change]:
        # Created, not applied: all runs of the namespace share the claim, and no run owns it.
        ports.cluster.create(build_evidence_claim(plan, storage_class))
        return ()

    return (SideEffect(f"create claim {OWN_CLAIM}", perform),)


def _preflight_deletions(observed: Observed, plan: Plan) -> tuple[Deletion, ...]:
    pods = (observed.pod(names.preflight_pod(plan.name, role)) for role in PREFLIGHT_ROLES)
    return tuple(
        Deletion("Pod", pod.name, pod.uid) for pod in pods if pod is not None and not pod.deleting
    )
