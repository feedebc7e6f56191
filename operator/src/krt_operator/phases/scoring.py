"""Scoring: one Job, its driver's termination message, the verdict."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from krt_operator import names
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    InconclusiveReasonKind,
    Phase,
    Report,
    SelfTest,
    Verdict,
)
from krt_operator.build.scoring import build_scoring_job
from krt_operator.constants import (
    BUSY,
    CALM,
    SCORING_ATTEMPTS,
    SCORING_GRACE,
)
from krt_operator.engine import journal
from krt_operator.engine.ports import Happening, Progress
from krt_operator.errors import TransientError
from krt_operator.health import jobs, pod_state
from krt_operator.health.objects import condition
from krt_operator.phases import expectation_results, outcome

if TYPE_CHECKING:
    from krt_operator.engine.ports import (
        Json,
        Observed,
        Ports,
        Run,
    )
    from krt_operator.plan.plan import Plan

ENDS: Final = {
    4: "its executors never came",
    6: "Spark could not go on",
    137: "its driver was killed, which is what happens out of memory (raise "
    "spec.scoring.driver.memory)",
}
"""Exit code of the driver → what that means; 4 and 6 are the driver's own, 137 is SIGKILL."""


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """Start the Job once, and read what its driver said when it has ended."""
    plan = run.plan
    if plan is None:
        raise TransientError("the plan is not there (yet)")
    attempt = run.status.scoring_attempt
    if attempt == 0:
        return _start(plan, 1, world, ports)
    job = world.jobs.get(names.scoring_job(plan.name, attempt))
    if job is None:
        return Progress(
            requeue_after=BUSY,
            apply=(build_scoring_job(plan, attempt, ports.settings.image_pull_policy),),
        )
    pod = jobs.pod_of(job, world.pods.values())
    code, told = pod_state.end(pod) if pod is not None else (None, "")
    if code == 0:
        return _scored(plan, pod_state.message_json(told), world)
    if code is not None:
        why = ENDS.get(code, f"its driver exited {code}")
        return _failed(plan, f"{why}: {told}", world)
    failed = condition(job, "Failed")
    lost = failed is not None and failed.get("reason") != "DeadlineExceeded"
    if lost and attempt < SCORING_ATTEMPTS:
        return _start(plan, attempt + 1, world, ports)
    why = _hopeless(run, world, failed, pod)
    return _failed(plan, why, world) if why else Progress(requeue_after=CALM)


def _hopeless(run: Run, world: Observed, failed: Json | None, pod: Json | None) -> str:
    """Why the Job will not score any more; empty while it may."""
    if failed is not None:
        return jobs.why_failed(failed)
    start = journal.started(run.status, Phase.SCORING) or world.at
    allowed = run.spec.timeouts.scoring.seconds * run.status.scoring_attempt + SCORING_GRACE
    if world.at <= start + timedelta(seconds=allowed):
        return ""
    why = "; ".join(pod_state.obstacles([pod] if pod else [])) or "it has not ended"
    return f"after {run.spec.timeouts.scoring}: {why}"


def _start(plan: Plan, attempt: int, world: Observed, ports: Ports) -> Progress:
    told = f"Job {names.scoring_job(plan.name, attempt)} scores the evidence"
    return Progress(
        requeue_after=BUSY,
        intents=(
            journal.put(scoring_attempt=attempt),
            journal.say(
                ConditionType.SCORED, ConditionStatus.UNKNOWN, "Scoring", told, at=world.at
            ),
        ),
        apply=(build_scoring_job(plan, attempt, ports.settings.image_pull_policy),),
        events=(Happening("Scoring", told),),
    )


def _scored(plan: Plan, result: dict[str, Any], world: Observed) -> Progress:
    try:
        verdict = Verdict(str(result.get("verdict")))
    except ValueError:
        return _failed(plan, f"its driver ended without a verdict: {result}", world)
    score = result.get("score")
    summary = str(result.get("summary") or verdict.value)
    ledger = {
        str(key): value
        for key, value in (result.get("ledger") or {}).items()
        if isinstance(value, int)
    }
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=(
            journal.put(
                score=None if score is None else int(score),
                ledger=ledger,
                self_test=_detector(result.get("selfTest")),
                report=Report(config_map=names.scorecard(plan.name), path=plan.bundle),
            ),
            journal.say(
                ConditionType.SCORED,
                ConditionStatus.TRUE,
                "Judged",
                f"{verdict}: {summary}",
                at=world.at,
            ),
            *expectation_results.judged(result.get("expectationResults"), world.at),
            *outcome.decide(outcome.JUDGED, verdict, summary, world.at),
        ),
        events=(Happening("Scored", f"{verdict}: {summary}"),),
    )


def _detector(told: Any) -> SelfTest | None:
    """The detector's test as the driver told it, None where it was not tested."""
    if not isinstance(told, dict):
        return None
    return SelfTest(detected=told.get("detected", 0), total=told.get("total", 0))


def _failed(plan: Plan, why: str, world: Observed) -> Progress:
    told = journal.cut(
        f"the scoring Job could not score: {why}; the evidence is kept, score it again with "
        f"krt-score <evidence volume>/{plan.bundle}"
    )
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=(
            journal.add_inconclusive_reason(
                "ScoringFailed", InconclusiveReasonKind.EVIDENCE, told, world.at
            ),
            journal.put(report=Report(path=plan.bundle)),
            journal.say(
                ConditionType.SCORED, ConditionStatus.FALSE, "ScoringFailed", told, at=world.at
            ),
            *expectation_results.unscored(plan.spec, world.at),
            *outcome.decide(outcome.JUDGED, Verdict.INCONCLUSIVE, told, world.at),
        ),
        events=(Happening("ScoringFailed", told, warning=True),),
    )
