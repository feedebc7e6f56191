"""The driver Job: read the topics into the bundle, score it, publish the result.

It starts while the consumers drain. The topics are read as soon as their ends are known, the rest
once nobody writes evidence any more.

The result goes into the evidence first, then into the termination message, which the controller
reads, and last into a ConfigMap, which is for people: whether that succeeds changes nothing.

Exit codes: 0 scored, whatever the verdict; 2 the plan, bundle or control cannot be
used; 4 no executor came; 5 the topics could not be read; 6 Spark failed; anything else is a defect.
"""

from __future__ import annotations

import logging
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from krt_contract.bundle import write_json
from krt_contract.control import BOUNDED, BOUNDS_KEY, ControlState
from krt_contract.stores.settings import ObjectStoreSettings
from krt_scoring.engine import (
    concurrency,
    executors,
    kubernetes_pods,
    session,
    shutdown,
    spark_errors,
)
from krt_scoring.errors import (
    NoExecutorsError,
    NotWritableError,
    ScoringError,
    SparkFailedError,
    TopicReadError,
)
from krt_scoring.inputs import control, evidence_places, run_info, topics
from krt_scoring.inputs.evidence import PRODUCE
from krt_scoring.outputs import config_map, files, termination, topics_read
from krt_scoring.pipeline import assess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from krt_contract.bundle import Bundle
    from krt_contract.plan import Plan
    from krt_scoring.inputs.log_places import LogPlace
    from krt_scoring.inputs.topics import PartitionBound
    from krt_scoring.pipeline import Assessment

TERMINATION_LOG = Path("/dev/termination-log")
EXIT_UNUSABLE = 2
EXIT_NO_EXECUTORS = 4
EXIT_TOPICS = 5
EXIT_SPARK = 6

MORE_MEMORY = "raise spec.scoring.driver.memory or spec.scoring.executor.memory"

log = logging.getLogger("krt_scoring.job")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the controller passes to the Job by environment."""

    plan: Path
    evidence: Path
    control: str
    namespace: str
    test: str
    test_uid: str
    scorecard: str
    cluster: kubernetes_pods.ClusterSettings
    store: ObjectStoreSettings | None = None

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Settings:
        """Return the settings of an environment.

        Raises:
            ScoringError: a variable is missing.
        """
        try:
            return cls(
                plan=Path(env["KRT_PLAN"]),
                evidence=Path(env["KRT_EVIDENCE"]),
                control=env["KRT_CONTROL"],
                namespace=env["KRT_NAMESPACE"],
                test=env["KRT_TEST"],
                test_uid=env["KRT_TEST_UID"],
                scorecard=env["KRT_SCORECARD"],
                cluster=kubernetes_pods.ClusterSettings(
                    namespace=env["KRT_NAMESPACE"],
                    pod=env["KRT_POD"],
                    pod_ip=env["KRT_POD_IP"],
                    image=env["KRT_IMAGE"],
                    pull_policy=env["KRT_IMAGE_PULL_POLICY"],
                    executors=int(env["KRT_EXECUTORS"]),
                    pod_template=env["KRT_EXECUTOR_POD_TEMPLATE"],
                    prefix=env["KRT_EXECUTOR_PREFIX"],
                    executor_cpu=env["KRT_EXECUTOR_CPU"],
                    driver_memory_mib=int(env["KRT_DRIVER_MEMORY_MIB"]),
                    executor_memory_mib=int(env["KRT_EXECUTOR_MEMORY_MIB"]),
                ),
                store=ObjectStoreSettings.read(env),
            )
        except KeyError as error:
            raise ScoringError(
                f"environment variable {error.args[0]} is not set; the controller sets it"
            ) from error


def main() -> int:
    """Run the Job and return its exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    # Files in the bundle belong to group 0, whatever uid the cluster assigns.
    os.umask(0o002)
    try:
        settings = Settings.of(os.environ)
        with spark_errors.translate_errors(MORE_MEMORY):
            card = run(settings).card
    except ScoringError as error:
        log.error("%s", error)  # noqa: TRY400 (the message says it all; a trace would not)
        _write_message(str(error))
        return _exit_code(error)
    _write_message(termination.message(card))
    log.info("%s: %s", card["verdict"], card["summary"])
    _publish(settings, card)
    return 0


def _publish(settings: Settings, card: Mapping[str, Any]) -> None:
    try:
        config_map.publish(
            config_map.build(
                settings.scorecard, settings.namespace, settings.test, settings.test_uid, card
            )
        )
    except Exception:
        log.exception("the ConfigMap could not be published; the verdict stands")


def _exit_code(error: ScoringError) -> int:
    if isinstance(error, NoExecutorsError):
        return EXIT_NO_EXECUTORS
    if isinstance(error, SparkFailedError):
        return EXIT_SPARK
    return EXIT_TOPICS if isinstance(error, TopicReadError) else EXIT_UNUSABLE


def _write_message(text: str) -> None:
    if TERMINATION_LOG.exists():
        TERMINATION_LOG.write_bytes(termination.cut(text).encode())


def run(settings: Settings) -> Assessment:
    """Score the run and write the result into its bundle.

    Raises:
        ScoringError: see its subclasses.
    """
    clock = _Clock()
    plan = run_info.load(settings.plan)
    place = evidence_places.of(settings.store, settings.evidence, plan.bundle)
    ledgers = place.inspect().rows
    # The log will hold about as many records as were sent until now.
    rows = sum(ledgers.values()) + ledgers.get(PRODUCE, 0)
    clock.lap("inspect")
    log_place = place.log(settings.cluster.prefix)
    few = concurrency.start(partial(_read_few, settings, plan, log_place))
    spark = session.kubernetes(settings.cluster, rows, settings.store)
    try:
        # The JVM is asked what it threw, so before it ends.
        with spark_errors.translate_errors(MORE_MEMORY):
            clock.lap("driver")
            _await_executors(spark, settings)
            clock.lap("executors")
            bounds, are_read = few.result()
            if not are_read:
                topics.read(spark, plan, bounds, log_place)
                _note_topics_read(settings)
            clock.lap("topics")
            control.wait_for({ControlState.SCORE}, settings.namespace, settings.control)
            clock.lap("evidence")
            inspected = place.inspect()
            rows = sum(inspected.rows.values())
            session.fit(spark, session.Sizing(rows, settings.cluster.executors))
            assessment = assess(spark, place.spread(spark, inspected))
            clock.lap("rules")
            version = spark.version
    finally:
        _stop(spark)
    bundle = place.bundle
    try:
        files.write(bundle, assessment)
        _write_scoring(bundle, settings, rows, version, clock)
        place.keep(files.results(bundle))
    except OSError as error:
        raise _not_writable("scorecard", error) from error
    return assessment


def _stop(spark: SparkSession) -> None:
    """End the session and its JVM; its executors are also deleted with the Job that owns them."""
    try:
        shutdown.stop(spark)
    except (Py4JError, OSError, subprocess.TimeoutExpired) as error:
        log.warning("Spark did not stop in order: %s", error)


def _await_executors(spark: SparkSession, settings: Settings) -> None:
    """Wait for the executors; for which there may be no room before the traffic's pods are gone.

    Raises:
        NoExecutorsError: none came in time, counted once more from when the evidence was complete.
    """
    cluster = settings.cluster
    try:
        executors.wait(spark, cluster.executors, cluster.registration_s)
    except NoExecutorsError as error:
        log.warning("waiting until traffic has ended: %s", error)
        control.wait_for({ControlState.SCORE}, settings.namespace, settings.control)
        executors.wait(spark, cluster.executors, cluster.registration_s)


def _read_few(settings: Settings, plan: Plan, place: LogPlace) -> tuple[list[PartitionBound], bool]:
    """Return the bounds once they are known, and whether the topics held little and are read."""
    data = control.wait_for(BOUNDED, settings.namespace, settings.control)
    bounds = topics.parse_bounds(data.get(BOUNDS_KEY, ""))
    try:
        are_read = topics.read_few(plan, bounds, place)
    except OSError as error:
        raise _not_writable("log of the topics", error) from error
    if are_read:
        _note_topics_read(settings)
    return bounds, are_read


def _note_topics_read(settings: Settings) -> None:
    """Note it on the driver's pod, beside the work."""
    concurrency.start(partial(topics_read.note, settings.namespace, settings.cluster.pod))


def _not_writable(what: str, error: OSError) -> NotWritableError:
    return NotWritableError(
        f"the {what} cannot be written into the evidence ({error.strerror or error}): check "
        "the free space and the permissions of the claim, or the object store, in spec.evidence"
    )


class _Clock:
    """Times the steps of the Job, µs."""

    def __init__(self) -> None:
        self._last = time.monotonic_ns()
        self.laps: dict[str, int] = {}

    def lap(self, name: str) -> None:
        now = time.monotonic_ns()
        self.laps[name] = (now - self._last) // 1000
        self._last = now
        log.info("%s took %d ms", name, self.laps[name] // 1000)


def _write_scoring(
    bundle: Bundle, settings: Settings, rows: int, version: str, clock: _Clock
) -> None:
    """Write scoring.json: how the scoring itself went."""
    clock.lap("outputs")
    write_json(
        bundle.scoring,
        {
            "attempt": settings.cluster.prefix,
            "durations": clock.laps,
            "executors": settings.cluster.executors,
            "pythonPeakKib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "rows": rows,
            "spark": version,
        },
    )


if __name__ == "__main__":
    sys.exit(main())
