"""The durability matrix: what was lost, and how long writes paused, by settings and fault.

A scenario of the matrix has a topic for each combination of settings, with a producer of its own.
The settings of a cell are those of its resource.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from krt_cli.scenarios.spread import NOT_MEASURED, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_cli.scenarios.archive import Archive
    from krt_cli.scenarios.catalogue import Scenario
    from krt_cli.scenarios.results import Result

PREFIX = "matrix-"
"""What the names of the scenarios of the matrix begin with."""

SETTINGS = ", twelve combinations of settings"
"""What the description of a fault ends with, in the table of all scenarios."""

ACKS = ("0", "1", "all")
"""The columns."""

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class Row:
    """One combination of the topic's settings under one fault.

    Attributes:
        min_isr: min.insync.replicas.
        unclean: unclean.leader.election.enable.
        cells: acks → lost records and longest pause of writes, over the runs.
    """

    min_isr: str
    unclean: str
    cells: dict[str, str]

    def shown(self, columns: Sequence[str]) -> list[str]:
        """Return the cells of these columns."""
        return [self.cells.get(acks, NOT_MEASURED) for acks in columns]


@dataclass(frozen=True, slots=True)
class Table:
    """The matrix of one fault.

    Attributes:
        name: of the scenario.
        fault: what fails, in a few words.
        faults: how many faults its resource has; the simplest table comes first.
        runs: how many runs there are.
        rows: one for each combination of the topic's settings.
    """

    name: str
    fault: str
    faults: int
    runs: int
    rows: list[Row]


def is_of_matrix(scenario: Scenario) -> bool:
    """Return whether a scenario fills the matrix."""
    return scenario.name.startswith(PREFIX)


def tables(scenarios: Sequence[Scenario], archive: Archive) -> list[Table]:
    """Return the matrix of each fault that was run.

    Args:
        scenarios: all of the catalogue.
        archive: the results.
    """
    found: list[Table] = []
    for scenario in scenarios:
        # What was counted before each producer had a ledger of its own cannot be divided.
        runs = [run for run in archive.runs(scenario.name) if run.card.get("producers")]
        if not is_of_matrix(scenario) or not runs:
            continue
        spec = yaml.safe_load(scenario.path.read_text(encoding="utf-8"))["spec"]
        fault = scenario.description().fault.removesuffix(SETTINGS)
        faults = len(spec["faults"])
        found.append(Table(scenario.name, fault, faults, len(runs), _rows(spec, runs)))
    return sorted(found, key=lambda table: (table.faults, table.name))


def _rows(spec: dict[str, Any], runs: list[Result]) -> list[Row]:
    settings = {topic["name"]: topic.get("config", {}) for topic in spec["topics"]}
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for producer in spec["traffic"]["producers"]:
        topic = producer["topic"]
        key = (settings[topic][MIN_ISR], settings[topic][UNCLEAN])
        rows.setdefault(key, {})[str(producer["acks"])] = _cell(producer["name"], topic, runs)
    return [Row(*key, cells) for key, cells in rows.items()]


def _cell(producer: str, topic: str, runs: list[Result]) -> str:
    lost, acked = (
        spread((run.count(producer, term) for run in runs), len(runs)) for term in ("lost", "acked")
    )
    pause = spread((run.pause(topic) for run in runs), len(runs))
    return f"{lost} of {acked} lost; pause {pause}"
