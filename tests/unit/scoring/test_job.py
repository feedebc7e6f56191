"""The Job: its settings, exit codes, termination message and Spark session."""

from __future__ import annotations

import json
from concurrent.futures import Future
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from krt_scoring import job
from krt_scoring.engine import concurrency, executors, jvm, session, shutdown
from krt_scoring.errors import (
    NoExecutorsError,
    NotWritableError,
    PlanError,
    ScoringError,
    SparkFailedError,
    TopicReadError,
)
from krt_scoring.inputs import control, evidence_places, run_info, topics
from krt_scoring.outputs import config_map, topics_read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENV = {
    "KRT_PLAN": "/etc/krt/plan/plan.json",
    "KRT_EVIDENCE": "/evidence",
    "KRT_CONTROL": "t-control",
    "KRT_NAMESPACE": "ns",
    "KRT_TEST": "t",
    "KRT_TEST_UID": "uid",
    "KRT_SCORECARD": "t-scorecard",
    "KRT_POD": "t-scoring-1-abcde",
    "KRT_POD_IP": "10.1.2.3",
    "KRT_IMAGE": "registry/krt-scoring:x",
    "KRT_IMAGE_PULL_POLICY": "Always",
    "KRT_EXECUTORS": "2",
    "KRT_EXECUTOR_POD_TEMPLATE": "/etc/krt/executor/pod.yaml",
    "KRT_EXECUTOR_PREFIX": "t-scoring-1",
    "KRT_EXECUTOR_CPU": "200m",
    "KRT_DRIVER_MEMORY_MIB": "512",
    "KRT_EXECUTOR_MEMORY_MIB": "640",
}
BOUND = {
    "topic": "foo",
    "partition": 1,
    "takenAt": 5,
    "logStart": 0,
    "highWatermark": 9,
    "lastStable": 9,
    "leader": 2,
    "leaderEpoch": 3,
    "isr": [0, 2],
    "settled": True,
}


def test_settings_of_an_environment_have_its_values() -> None:
    found = job.Settings.of(ENV)
    assert (found.namespace, found.cluster.executors) == ("ns", 2)
    assert found.cluster.executor_memory_mib == 640


@pytest.mark.parametrize("name", sorted(ENV))
def test_settings_without_a_variable_name_it(name: str) -> None:
    with pytest.raises(ScoringError, match=f"{name} is not set"):
        job.Settings.of({key: value for key, value in ENV.items() if key != name})


@pytest.mark.parametrize(
    ("error", "code"),
    [(NoExecutorsError("x"), 4), (TopicReadError("x"), 5), (PlanError("x"), 2)],
)
def test_main_of_a_failure_returns_its_exit_code_and_writes_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: ScoringError, code: int
) -> None:
    def fail(_: job.Settings) -> None:
        raise error

    message = tmp_path / "termination-log"
    message.touch()
    monkeypatch.setattr(job, "run", fail)
    monkeypatch.setattr(job, "TERMINATION_LOG", message)
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    assert job.main() == code
    assert message.read_text() == "x"


class Thrown:
    """An exception of a JVM, which can be asked about it until it is ended."""

    _target_id = "o1"

    def __init__(self) -> None:
        self.jvm_is_ended = False

    def getCause(self) -> None:  # noqa: N802 (Java's name)
        if self.jvm_is_ended:
            raise Py4JNetworkError("the gateway is shut down")

    def toString(self) -> str:  # noqa: N802 (Java's name)
        return "SparkException: no disk"


def prepare_run(monkeypatch: pytest.MonkeyPatch, *, few: bool) -> list[str]:
    """Let the Job run with nothing to read; return what it does, in order."""
    done: list[str] = []
    place = SimpleNamespace(
        inspect=lambda: SimpleNamespace(rows={}),
        log=lambda _: None,
        spread=lambda _, inspected: inspected,
    )
    monkeypatch.setattr(run_info, "load", lambda _: SimpleNamespace(bundle=None))
    monkeypatch.setattr(evidence_places, "of", lambda *_: place)
    monkeypatch.setattr(session, "kubernetes", lambda *_: SimpleNamespace(version="4"))
    monkeypatch.setattr(session, "fit", lambda *_: None)
    monkeypatch.setattr(executors, "wait", lambda *_: 2)
    monkeypatch.setattr(control, "wait_for", lambda *_: {"bounds": "[]"})

    def read_few(*_: object) -> bool:
        done.append("few")
        return few

    monkeypatch.setattr(topics, "read_few", read_few)
    monkeypatch.setattr(topics, "read", lambda *_: done.append("all"))
    monkeypatch.setattr(concurrency, "start", done_at_once)
    monkeypatch.setattr(topics_read, "note", lambda *where: done.append(f"note {where}"))
    monkeypatch.setattr(shutdown, "stop", lambda _: done.append("stop"))
    return done


def done_at_once(work: Callable[[], Any]) -> Future[Any]:
    found: Future[Any] = Future()
    found.set_result(work())
    return found


@pytest.mark.parametrize(("few", "read"), [(True, ["few"]), (False, ["few", "all"])])
def test_run_notes_on_its_pod_that_the_topics_are_read(
    monkeypatch: pytest.MonkeyPatch, read: list[str], *, few: bool
) -> None:
    def judge(*_: object) -> None:
        done.append("judge")
        raise ScoringError("enough")

    done = prepare_run(monkeypatch, few=few)
    monkeypatch.setattr(job, "assess", judge)
    with pytest.raises(ScoringError, match="enough"):
        job.run(job.Settings.of(ENV))
    assert done == [*read, "note ('ns', 't-scoring-1-abcde')", "judge", "stop"]


def test_run_whose_rules_fail_asks_the_jvm_for_the_cause_before_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thrown = Thrown()

    def fail(*_: object) -> None:
        raise Py4JJavaError("An error occurred while calling o1.collectToPython", thrown)

    def stop(_: object) -> None:
        thrown.jvm_is_ended = True

    prepare_run(monkeypatch, few=True)
    monkeypatch.setattr(job, "assess", fail)
    monkeypatch.setattr(shutdown, "stop", stop)
    with pytest.raises(SparkFailedError, match=r"^Spark failed: SparkException: no disk$"):
        job.run(job.Settings.of(ENV))
    assert thrown.jvm_is_ended


def test_log_that_the_evidence_does_not_take_is_reported_with_what_to_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(control, "wait_for", lambda *_: {"bounds": "[]"})
    monkeypatch.setattr(topics, "read_few", full)
    any_place: Any = None
    with pytest.raises(NotWritableError, match=r"the log .*No space left.*spec\.evidence"):
        job._read_few(job.Settings.of(ENV), any_place, any_place)  # noqa: SLF001 (a thread's)


def prepared(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Let the Job find a verdict; return the file of its termination message."""
    message = folder / "termination-log"
    message.touch()
    document = {"verdict": "Passed", "summary": "nothing lost", "inconclusiveReasons": []}
    monkeypatch.setattr(job, "run", lambda _: SimpleNamespace(card=document))
    monkeypatch.setattr(job, "TERMINATION_LOG", message)
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    return message


@pytest.mark.parametrize("error", [ConnectionRefusedError("no API"), ValueError("a defect")])
def test_main_that_cannot_publish_keeps_verdict_and_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    def fail(_: object) -> None:
        raise error

    message = prepared(monkeypatch, tmp_path)
    monkeypatch.setattr(config_map, "publish", fail)
    assert job.main() == 0
    assert json.loads(message.read_text())["verdict"] == "Passed"


def test_main_publishes_when_the_termination_message_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    message = prepared(monkeypatch, tmp_path)
    written: list[str] = []
    monkeypatch.setattr(config_map, "publish", lambda _: written.append(message.read_text()))
    assert job.main() == 0
    assert json.loads(written[0])["verdict"] == "Passed"


@pytest.mark.parametrize(("late", "comes"), [(False, True), (True, True), (True, False)])
def test_executors_without_room_beside_the_traffic_are_waited_for_again(
    monkeypatch: pytest.MonkeyPatch, *, late: bool, comes: bool
) -> None:
    calls: list[object] = []

    def wait(*_: object) -> int:
        calls.append("executors")
        if late and (not comes or "Score" not in calls):
            raise NoExecutorsError("no room")
        return 2

    monkeypatch.setattr(executors, "wait", wait)
    monkeypatch.setattr(control, "wait_for", lambda states, *_: calls.extend(states))
    spark: Any = None
    with nullcontext() if comes else pytest.raises(NoExecutorsError):
        job._await_executors(spark, job.Settings.of(ENV))  # noqa: SLF001 (a step of a job)
    assert calls == (["executors", "Score", "executors"] if late else ["executors"])


def test_kubernetes_settings_take_the_controllers_values() -> None:
    settings = session.kubernetes_settings(job.Settings.of(ENV).cluster, 1_000)
    assert settings["spark.executor.instances"] == "2"
    assert settings["spark.executor.memory"] == "640m"
    assert settings["spark.driver.memory"] == "512m"
    assert settings["spark.driver.host"] == "10.1.2.3"
    assert settings["spark.kubernetes.driver.pod.name"] == "t-scoring-1-abcde"
    assert settings["spark.kubernetes.executor.podNamePrefix"] == "t-scoring-1"
    assert settings["spark.kubernetes.container.image.pullPolicy"] == "Always"
    assert settings["spark.sql.adaptive.enabled"] == "false"
    assert settings["spark.sql.broadcastTimeout"] == "-1"  # none: what is broadcast takes its time
    assert "TieredStopAtLevel=1" in settings["spark.executor.extraJavaOptions"]
    assert "-Xmx" not in settings["spark.executor.extraJavaOptions"]


@pytest.mark.parametrize(
    ("rows", "partitions", "fewer", "large"),
    [
        (0, 2, 2, False),
        (600_000, 2, 2, False),
        (3_000_000, 4, 2, True),
        (30_000_000, 40, 4, True),
        (90_000_000, 120, 12, True),
    ],
)
def test_sizing_more_rows_need_more_partitions(
    rows: int, partitions: int, fewer: int, *, large: bool
) -> None:
    sizing = session.Sizing(rows, 2)
    assert (sizing.partitions, sizing.shuffle_partitions) == (partitions, fewer)
    assert sizing.large is large
    assert ("UseParallelGC" in sizing.java_flags) is large


@pytest.mark.parametrize(
    ("rows", "compiler", "collector"),
    [
        (jvm.LARGE_ROWS - 1, "TieredStopAtLevel=1", "UseSerialGC"),
        (jvm.LARGE_ROWS, "TieredStopAtLevel=1", "UseParallelGC"),
        (jvm.OPTIMISED_ROWS - 1, "TieredStopAtLevel=1", "UseParallelGC"),
        (jvm.OPTIMISED_ROWS, "Tier4InvocationThreshold", "UseParallelGC"),
    ],
)
def test_flags_choose_compiler_and_collector_by_the_rows(
    rows: int, compiler: str, collector: str
) -> None:
    flags = session.Sizing(rows, 2).java_flags
    assert [compiler in flags, collector in flags] == [True, True]


@pytest.mark.parametrize(
    ("offered", "asked"),
    [("always [madvise] never", True), ("always madvise [never]", False), (None, False)],
)
def test_flags_huge_pages_are_used_where_the_system_offers_them(
    offered: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, asked: bool
) -> None:
    setting = tmp_path / "enabled"
    if offered:
        setting.write_text(f"{offered}\n")
    monkeypatch.setattr(jvm, "HUGE_PAGES", setting)
    flags = session.Sizing(jvm.LARGE_ROWS, 2).java_flags
    assert ("-XX:+UseTransparentHugePages" in flags) is asked


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("", ""),
        ("1", "caching,class-data,jvm-flags,offset-ranks"),
        ("jvm-flags,caching", "caching,jvm-flags"),
    ],
)
def test_settings_name_the_shortcuts_that_the_environment_rules_out(
    text: str, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(session.PLAIN_ENV, text)
    sizing = session.Sizing(0, 2)
    assert sizing.settings()[session.PLAIN] == plain
    assert ("TieredStopAtLevel" in sizing.java_flags) is ("jvm-flags" not in plain)


def test_settings_with_an_unknown_shortcut_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(session.PLAIN_ENV, "caching,turbo")
    with pytest.raises(ScoringError, match=r"'turbo'.*offset-ranks"):
        session.Sizing(0, 2).settings()


def test_flags_compiler_directives_are_in_the_package() -> None:
    flags = session.Sizing(jvm.OPTIMISED_ROWS, 2).java_flags
    assert f"-XX:CompilerDirectivesFile={jvm.COMPILING}" in flags
    assert "Exclude: true" in jvm.COMPILING.read_text(encoding="utf-8")


def test_parse_bounds_returns_them_in_order() -> None:
    found = topics.parse_bounds(json.dumps([BOUND, {**BOUND, "partition": 0, "leader": -1}]))
    assert [(bound.partition, bound.readable) for bound in found] == [(0, False), (1, True)]


@pytest.mark.parametrize("text", ["", "{}", '[{"topic": "foo"}]', "[1]"])
def test_parse_bounds_unusable_text_is_refused(text: str) -> None:
    with pytest.raises(TopicReadError, match="key bounds"):
        topics.parse_bounds(text)
