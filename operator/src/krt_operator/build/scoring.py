"""The Spark driver's Job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.labels import Component
from krt_contract.spark_memory import overhead_mib
from krt_operator import names
from krt_operator.api.resources import mebibytes
from krt_operator.build.decorate import decorate_objects
from krt_operator.build.evidence import evidence_access
from krt_operator.build.kafka_secrets import kafka_secrets
from krt_operator.build.render import render
from krt_operator.constants import (
    BLOCK_MANAGER_PORT,
    DRIVER_PORT,
    RECORDER_PATIENCE,
    REPLICA_DUMP_GRACE,
)

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

DRAINING_STEPS: Final = 4
"""Steps of Draining that may each take spec.timeouts.drain; see `phases.draining`."""


def build_scoring_job(plan: Plan, attempt: int, pull_policy: str) -> Json:
    """The Job that scores the run; `attempt` counts from 1."""
    scoring = plan.spec.scoring
    driver = mebibytes(scoring.driver.memory)
    memory = f"{driver + overhead_mib(driver)}Mi"
    objects = render(
        "scoring-job.yaml.j2",
        name=names.scoring_job(plan.name, attempt),
        deadline_seconds=_deadline_seconds(plan, attempt),
        account=f"{plan.name}-scoring",
        image=plan.images["scoring"],
        pull_policy=pull_policy,
        namespace=plan.namespace,
        test=plan.name,
        uid=plan.uid,
        scorecard=names.scorecard(plan.name),
        executors=scoring.executors,
        driver_mib=driver,
        executor_mib=mebibytes(scoring.executor.memory),
        executor_cpu=scoring.executor.cpu,
        driver_port=DRIVER_PORT,
        block_port=BLOCK_MANAGER_PORT,
        resources={
            "requests": {"cpu": scoring.driver.cpu, "memory": memory},
            "limits": {"memory": memory},
        },
        plan=names.plan(plan.name),
        control=names.control(plan.name),
        scripts=names.scripts(plan.name),
        evidence=evidence_access(plan),
        kafka=kafka_secrets(plan),
    )
    return decorate_objects(objects, plan, Component.SCORING, "scoring", pull_policy)[0]


def _deadline_seconds(plan: Plan, attempt: int) -> int:
    """Seconds until the Job is ended.

    The first one waits for the evidence: the producers stop, the log becomes stable, twice where
    consumers write an output, the consumers read to its end, the recorder closes, replicas are
    dumped.
    """
    timeouts = plan.spec.timeouts
    seconds = timeouts.scoring.seconds
    if attempt == 1:
        seconds += DRAINING_STEPS * timeouts.drain.seconds + RECORDER_PATIENCE
        if plan.spec.evidence.compare_replicas:
            seconds += timeouts.replica_dump.seconds + REPLICA_DUMP_GRACE
    return max(1, int(seconds))
