"""Scoring: one Job, the termination message of its driver, the verdict.

The Job has been there since Draining began. Its driver judges once the control says Score. Once it
has read the topics, members are deleted beside it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from krt_contract.control import ControlState
from krt_contract.labels import ANNOTATION_TOPICS_READ
from krt_operator import names
from krt_operator.api.spec import Cleanup
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    Ending,
    InconclusiveReasonKind,
    Phase,
    Report,
    SelfTest,
    Verdict,
)
from krt_operator.build.scoring import build_scoring_job
from krt_operator.build.shared import with_state
from krt_operator.constants import (
    BUSY,
    SCORING_ATTEMPTS,
    SCORING_GRACE,
)
from krt_operator.engine import journal
from krt_operator.engine.progress import Event, Progress, SideEffect
from krt_operator.engine.remedies import MAX_MESSAGE, cut
from krt_operator.errors import NameTakenError, RefusedError, TransientError
from krt_operator.health import pod_state
from krt_operator.health.traffic import control_state
from krt_operator.phases import deletions, expectation_results, outcome

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import JobView, Json, PodView

SCORECARD: Final = "scorecard.json"
"""The scorecard's file in the bundle."""

EXIT_CODES: Final = {
    4: "its executors did not start",
    6: "Spark failed",
    137: "its driver was killed, probably out of memory (raise spec.scoring.driver.memory)",
}
"""Exit code of the driver to its meaning; 4 and 6 are the driver's own, 137 is SIGKILL."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Let the Job judge, and read the driver's termination message when it has ended."""
    plan, control = run.plan, observed.config_maps.get(names.control(run.name))
    if plan is None or control is None:
        raise TransientError("the ConfigMap of the plan or of the control does not exist yet")
    attempt = run.status.scoring_attempt
    if control_state(observed, plan) != ControlState.SCORE:
        return _begin(plan, max(attempt, 1), control, observed, ports)
    job = observed.job(names.scoring_job(plan.name, attempt))
    if job is None:
        return Progress(
            requeue_after=BUSY,
            apply=(build_scoring_job(plan, attempt, ports.settings.image_pull_policy),),
        )
    pod = job.pod(observed.pods.values())
    code = None if pod is None else pod.exit_code
    result = {} if pod is None or code is None else pod_state.message_json(pod.message)
    # The driver writes its verdict when the scorecard is in the evidence. How it ended afterwards
    # changes nothing.
    if code == 0 or "verdict" in result:
        return _scored(run, result, observed, ports)
    if pod is not None and code is not None:
        meaning = EXIT_CODES.get(code, f"its driver exited with code {code}")
        return failed(run, f"{meaning}: {pod.message}", observed.at)
    lost = job.failed is not None and job.failed.reason != "DeadlineExceeded"
    if lost and attempt < SCORING_ATTEMPTS:
        return _start(plan, attempt + 1, observed, ports)
    failure = _failure(run, observed, job, pod)
    return failed(run, failure, observed.at) if failure else _wait(run, observed, pod)


def _wait(run: Run, observed: Observed, pod: PodView | None) -> Progress:
    """Wait for the driver; meanwhile, delete what it can do without, whose processors it then has.

    A second attempt of the Job takes what the first one read. What may not be deleted now is left
    to CleaningUp, which reports it.
    """
    are_read = pod is not None and ANNOTATION_TOPICS_READ in pod.annotations
    if not are_read or run.spec.cleanup is Cleanup.RETAIN:
        return Progress(requeue_after=BUSY)
    found = deletions.not_begun(deletions.once_topics_are_read(observed), observed)

    def perform(ports: Ports) -> Sequence[Change]:
        for deletion in found:
            with suppress(RefusedError, NameTakenError):
                ports.cluster.delete(deletion)
        return ()

    effect = SideEffect("delete the members, whose topics are read", perform)
    return Progress(requeue_after=BUSY, side_effects=(effect,) if found else ())


def _failure(run: Run, observed: Observed, job: JobView, pod: PodView | None) -> str:
    """Why the Job will not score any more; empty while it may."""
    if job.failed is not None:
        return job.failure
    start = journal.started(run.status, Phase.SCORING) or observed.at
    allowed = run.spec.timeouts.scoring.seconds * run.status.scoring_attempt + SCORING_GRACE
    if observed.at <= start + timedelta(seconds=allowed):
        return ""
    obstacles = pod_state.obstacles([] if pod is None else [pod])
    return f"after {run.spec.timeouts.scoring}: {'; '.join(obstacles) or 'it has not ended'}"


def _begin(plan: Plan, attempt: int, control: Json, observed: Observed, ports: Ports) -> Progress:
    """Say that the evidence is complete. The Job is there, unless an earlier release drained."""
    started = _start(plan, attempt, observed, ports)
    return replace(started, apply=(*started.apply, with_state(control, ControlState.SCORE)))


def _start(plan: Plan, attempt: int, observed: Observed, ports: Ports) -> Progress:
    message = f"Job {names.scoring_job(plan.name, attempt)} scores the evidence"
    return Progress(
        requeue_after=BUSY,
        intents=(
            journal.put(scoring_attempt=attempt),
            journal.set_condition(
                ConditionType.SCORED, ConditionStatus.UNKNOWN, "Scoring", message, at=observed.at
            ),
        ),
        apply=(build_scoring_job(plan, attempt, ports.settings.image_pull_policy),),
        events=(Event("Scoring", message),),
    )


def _scored(run: Run, result: dict[str, Any], observed: Observed, ports: Ports) -> Progress:
    try:
        verdict = Verdict(str(result.get("verdict")))
    except ValueError:
        return failed(run, f"its driver ended without a verdict: {result}", observed.at)
    score = result.get("score")
    summary = str(result.get("summary") or verdict.value)
    config_map = names.scorecard(run.name)
    message, events = f"{verdict}: {summary}", [Event("Scored", f"{verdict}: {summary}")]
    if ports.cluster.get("ConfigMap", config_map) is None:
        missing = (
            f"ConfigMap {config_map} is missing: the driver could not publish it. The scorecard is "
            f"in the evidence ({SCORECARD}); copy it with krt report {run.name}"
        )
        config_map, message = "", cut(f"{verdict}; {missing}; {summary}")
        events.append(Event("ScorecardNotPublished", missing, warning=True))
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
                self_test=_self_test(result.get("selfTest")),
                report=Report(config_map=config_map, path=run.bundle),
            ),
            journal.set_condition(
                ConditionType.SCORED,
                ConditionStatus.TRUE,
                Ending.VERDICT_REACHED.value,
                message,
                at=observed.at,
            ),
            *expectation_results.evaluated(result.get("expectationResults"), observed.at),
            *outcome.decide(Ending.VERDICT_REACHED, verdict, summary, observed.at),
        ),
        events=tuple(events),
    )


def _self_test(result: Any) -> SelfTest | None:
    """The result of scoring's self-test, None where it did not run."""
    if not isinstance(result, dict):
        return None
    return SelfTest(detected=result.get("detected", 0), total=result.get("total", 0))


def failed(run: Run, cause: str, at: datetime) -> Progress:
    """End a run whose evidence was not scored, for this cause."""
    remedy = f"; the evidence is kept: copy it with krt evidence {run.name}, then use krt score"
    start = cut(f"the scoring Job failed: {cause}")
    message = start[: MAX_MESSAGE - len(remedy)] + remedy
    return Progress(
        requeue_after=0,
        next_phase=Phase.CLEANING_UP,
        changes=(
            journal.add_inconclusive_reason(
                "ScoringFailed", InconclusiveReasonKind.EVIDENCE, message, at
            ),
            journal.put(report=Report(path=run.bundle)),
            journal.set_condition(
                ConditionType.SCORED, ConditionStatus.FALSE, "ScoringFailed", message, at=at
            ),
            *expectation_results.not_scored(run.spec, at),
            *outcome.decide(Ending.VERDICT_REACHED, Verdict.INCONCLUSIVE, message, at),
        ),
        events=(Event("ScoringFailed", message, warning=True),),
    )
