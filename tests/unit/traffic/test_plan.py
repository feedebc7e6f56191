from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.traffic.plans import document, load_plan

from krt_traffic.errors import UnusableError
from krt_traffic.plan import find_consumer, find_producer, load

if TYPE_CHECKING:
    from pathlib import Path


def test_load_of_a_plan_gives_entries_members_and_timeouts(tmp_path: Path) -> None:
    read = load_plan(tmp_path)
    assert read.producer("main").partitions == 3
    assert read.zookeeper_addresses == {"zk-0": "z0:2181", "zk-1": "z1:2181"}
    assert read.drain_timeout.seconds == 120


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schemaVersion": 1}, "schemaVersion 1"),
        ({"run": {}}, "run.namespace is missing"),
        ({"spec": {}}, "spec.timeouts.drain is missing"),
        ({"topics": []}, "foo"),
    ],
)
def test_load_of_an_unusable_plan_names_the_field(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document() | change))
    with pytest.raises(UnusableError, match=message):
        load(path)


def test_find_of_an_unknown_entry_names_it_and_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnusableError, match=r"KRT_NAME.*'other'.*main"):
        find_producer(load_plan(tmp_path), "other")
    with pytest.raises(UnusableError, match=r"KRT_NAME.*'other'.*read"):
        find_consumer(load_plan(tmp_path), "other")


def test_load_of_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(UnusableError, match=r"plan\.json: cannot be read"):
        load(tmp_path / "plan.json")
