"""Reads a test and its children. What does not fit this release becomes the run's problem."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from krt_contract.errors import ContractError
from krt_contract.plan import PLAN_FILE
from krt_operator import names
from krt_operator.api.partial import problems, read_fields
from krt_operator.api.plan import Plan
from krt_operator.api.resource import KafkaResilienceTest, Metadata
from krt_operator.api.spec import Spec
from krt_operator.api.status import ConditionStatus, ConditionType, Phase, Status, Verdict
from krt_operator.engine import journal
from krt_operator.engine.ownership import owned_by, pods_of
from krt_operator.engine.progress import Observed, Run
from krt_operator.errors import PlanUnreadableError, RefusedError, ResourceUnreadableError

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.app.settings import Settings
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.engine.views import Json

CHILDREN: Final = ("Pod", "StatefulSet", "PersistentVolumeClaim", "Job", "ConfigMap")
"""Kinds listed in every pass after Pending."""

BUILT_KINDS: Final = ("Service", "PodDisruptionBudget", "ServiceAccount", "RoleBinding")
"""Kinds listed in the phases that create or delete them."""

NETWORK_POLICY: Final = "NetworkPolicy"
"""Listed with them where the controller creates some: elsewhere it has no right to."""

BUILDING: Final = frozenset({Phase.PROVISIONING, Phase.CLEANING_UP})


def built_kinds(settings: Settings) -> tuple[str, ...]:
    """The kinds that are listed only in the phases that create or delete them."""
    policies = () if settings.test_network_policies is None else (NETWORK_POLICY,)
    return (*BUILT_KINDS, *policies)


def read_run(raw: Json, at: datetime) -> Run:
    """Read a test; where it does not fit the models, `Run.problem` says so and the rest is read."""
    problem, unread = None, frozenset[str]()
    try:
        resource = KafkaResilienceTest.parse(raw)
        meta, status, spec = resource.metadata, resource.status, resource.spec.resolve()
    except ValidationError as error:
        problem = ResourceUnreadableError(problems(error))
        meta = Metadata.model_validate(raw["metadata"])
        spec, _ = read_fields(Spec, raw.get("spec") or {})
        status, unread = read_fields(Status, raw.get("status") or {})
    if "phase" not in unread:
        status = journal.apply_all(status, _initial(status, meta.generation, at))
    return Run(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        spec=spec,
        status=status,
        created=meta.creation_timestamp or at,
        raw=raw,
        problem=problem,
        unread=unread,
    )


def with_plan(run: Run, observed: Observed) -> Run:
    """The run with its plan, if there is one; if it cannot be read, with that as its problem."""
    name = names.plan(run.name)
    found = observed.config_maps.get(name)
    if found is None:
        return run
    try:
        return replace(run, plan=Plan.from_json(found["data"][PLAN_FILE]))
    except ValidationError as error:
        reason = problems(error)
    except (ContractError, KeyError) as error:
        reason = str(error)
    problem = PlanUnreadableError(f"ConfigMap {name}: {reason}")
    return replace(run, problem=run.problem or problem)


def observe(ports: Ports, name: str, uid: str, phase: Phase | None) -> Observed:
    """List a run's children: what has its labels and belongs to it."""
    labels = names.run_labels(uid)

    def by_name(kind: str) -> dict[str, Json]:
        found = ports.cluster.list(kind, labels)
        return {obj["metadata"]["name"]: obj for obj in found}

    others = {
        (kind, child): obj
        for kind in (built_kinds(ports.settings) if phase in BUILDING else ())
        for child, obj in owned_by(by_name(kind), uid).items()
    }
    # In Pending nothing has been built; the plan may have been written just before.
    listed = ("ConfigMap",) if phase in {None, Phase.PENDING} else CHILDREN
    children = {kind: by_name(kind) for kind in listed}
    pods, all_sets, claims, all_jobs, maps = (children.get(kind, {}) for kind in CHILDREN)
    workloads = {
        (kind, each): obj
        for kind, found in (("StatefulSet", all_sets), ("Job", all_jobs))
        for each, obj in found.items()
    }
    pods = pods_of(pods, name, uid, workloads, ports.cluster.get)
    sets, jobs, claims, maps = (owned_by(each, uid) for each in (all_sets, all_jobs, claims, maps))
    return Observed(
        at=ports.clock.now(),
        pods=pods,
        stateful_sets=sets,
        claims=claims,
        jobs=jobs,
        config_maps=maps,
        others=others,
    )


def with_broker_pods(run: Run, observed: Observed, ports: Ports) -> Observed:
    """What was observed; while faults act on brokers of somebody else, with their pods.

    Raises:
        RefusedError: the controller may not list them. Not while the run is cleaned up: its end
            waits for no right, and a frozen process goes on by itself.
    """
    pods = run.spec.broker_pods
    ending = run.status.phase is Phase.CLEANING_UP
    open_fault = any(entry.state.open and entry.referenced_brokers for entry in run.status.faults)
    if pods is None or not (run.status.phase is Phase.INJECTING or (ending and open_fault)):
        return observed
    namespace = pods.namespace or run.namespace
    try:
        listed = ports.broker_pods(namespace, pods.selector.match_labels).list()
    except RefusedError:
        if ending:
            return observed
        raise
    return replace(observed, broker_pods={pod["metadata"]["name"]: pod for pod in listed})


def _initial(status: Status, generation: int, at: datetime) -> tuple[Change, ...]:
    """The changes that a status needs before the first phase reads it."""
    generation_observed = journal.put(observed_generation=generation)
    if status.phase is not None:
        return (generation_observed,)
    return (
        generation_observed,
        journal.put(verdict=Verdict.PENDING, start_time=at),
        journal.enter(Phase.PENDING, at),
        journal.set_condition(
            ConditionType.SUCCEEDED, ConditionStatus.UNKNOWN, "Running", "no verdict yet", at=at
        ),
    )
