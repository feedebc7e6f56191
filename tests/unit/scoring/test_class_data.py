"""The archive of the classes that local scoring loads."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from krt_scoring.engine import class_data, local_session, session, shutdown
from krt_scoring.engine.class_data import ClassData, Start


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A program that could be Java."""
    program = tmp_path / "jdk/bin/java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def find(java: Path, **variables: str) -> ClassData | None:
    folder = str(java.parents[1])
    return class_data.find({"JAVA_HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache"} | variables)


def written(start: Start) -> Path:
    """Where a JVM that starts like this writes the archive."""
    return Path(start.flags.split("ArchiveClassesAtExit=")[1].rstrip('"'))


def test_archive_is_written_by_the_second_jvm_and_read_by_the_third(java: Path) -> None:
    found = find(java)
    assert found is not None
    assert found.start() == Start()
    second = found.start()
    assert second.writes
    written(second).write_bytes(b"classes")
    found.keep()
    third = found.start()
    assert not third.writes
    assert f'"-XX:SharedArchiveFile={found.archive}"' in third.flags
    assert [path.name for path in found.archive.parent.iterdir()] == [found.archive.name]


def test_archive_that_was_not_written_is_tried_again(java: Path) -> None:
    found = find(java)
    assert found is not None
    found.start()
    assert found.start().writes
    found.keep()
    assert found.start().writes


def test_find_of_another_java_names_another_archive(java: Path) -> None:
    before = find(java)
    java.write_text("#!/bin/sh\n# an update\n")
    assert before is not None
    assert find(java) not in {None, before}


@pytest.mark.parametrize(
    "variables",
    [{"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "/cache/a:b"}, {"JAVA_HOME": "/nowhere"}],
)
def test_find_without_a_place_or_a_java_is_none(java: Path, variables: dict[str, str]) -> None:
    assert find(java, **variables) is None


def test_cache_that_cannot_be_written_to_is_none(java: Path) -> None:
    (java.parents[1] / "cache").write_text("a file")
    found = find(java)
    assert found is not None
    assert found.start() == found.start() == Start()
    found.keep()


def test_keep_leaves_the_archives_that_were_used_last(java: Path) -> None:
    found = find(java)
    assert found is not None
    found.start()
    partial = written(found.start())
    ages = {"oldest.jsa": 300, "older.jsa": 200, "newer.jsa": 100}
    for name, age in ages.items():
        path = found.archive.with_name(name)
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    partial.touch()
    found.keep()
    left = {path.name for path in found.archive.parent.glob("*.jsa")}
    assert left == {"newer.jsa", found.archive.name}


def test_start_removes_what_an_interrupted_jvm_left(java: Path) -> None:
    found = find(java)
    assert found is not None
    found.start()
    left = {}
    for name, age in {"1.partial": 2 * class_data.ABANDONED_S, "2.partial": 0}.items():
        left[name] = found.archive.with_name(name)
        left[name].touch()
        os.utime(left[name], (time.time() - age,) * 2)
    assert found.start().writes
    assert not left["1.partial"].exists()
    assert left["2.partial"].exists()


def test_jvm_that_writes_the_archive_is_given_the_time_for_it(
    java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find(java)
    assert found is not None
    found.start()
    ended: list[float] = []

    def start(_rows: int, _memory: str, _cores: int, flags: str) -> SimpleNamespace:
        return SimpleNamespace(flags=flags, stop=lambda: ended.append(0))

    def stop(spark: SimpleNamespace, patience_s: int) -> None:
        written(class_data.Start(spark.flags)).write_bytes(b"classes")
        ended.append(patience_s)

    monkeypatch.setattr(session, "local", start)
    monkeypatch.setattr(shutdown, "stop", stop)
    with local_session.LocalSession(2, None, found) as local:
        local.run(1_000, lambda _: None)
        # Of another size, so in another JVM.
        local.run(10_000_000, lambda _: None)
        assert ended == [local_session.ARCHIVING_S]
        assert found.archive.exists()
    assert ended == [local_session.ARCHIVING_S, 0]
