"""Pages of the results, from templates: tables of all scenarios, and a page for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import jinja2

from krt_cli.scenarios.catalogue import CATEGORIES, Mode
from krt_cli.scenarios.comparison import changes
from krt_cli.scenarios.matrix import ACKS, tables
from krt_cli.scenarios.spread import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from krt_cli.scenarios.archive import Archive
    from krt_cli.scenarios.catalogue import Description, Scenario
    from krt_cli.scenarios.results import Result

FROM_DOCS, FROM_BUILD = "../../", "../../../"
"""The repository's root, relative to docs/scenarios and to build/docs/scenarios."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A scenario that was run.

    Attributes:
        name: the id of the scenario.
        manifest: the name of its manifest.
        turned: whether that is of ZooKeeper mode, and was turned into KRaft mode.
        text: what its manifest says.
        runs: the kept runs, the latest last.
        changed: whether its manifest is another one since.
    """

    name: str
    manifest: str
    turned: bool
    text: Description
    runs: list[Result]
    changed: bool

    @property
    def last(self) -> Result:
        """The run whose report is shown."""
        return self.runs[-1]

    @property
    def reported(self) -> bool:
        """Whether there is a scorecard to make a report of."""
        return bool(self.last.card)

    @property
    def consistency(self) -> str:
        """In how many runs, from the last one back, every expectation came out the same."""
        return consistency(self.runs)

    @property
    def outcomes(self) -> str:
        """How often the expectations came out how: ``6 met``."""
        return tally(str(run.outcome) for run in self.runs)

    @property
    def verdicts(self) -> str:
        """How often there was which verdict: ``4 Passed, 2 Degraded``."""
        return tally(run.conclusion for run in self.runs)

    @property
    def lost(self) -> str:
        """Acknowledged records that were lost, and of how many."""
        lost = spread(run.lost for run in self.runs)
        acked = [run.acked for run in self.runs]
        return f"{lost} of {spread(acked)}" if any(acked) else lost

    def objective(self, name: str) -> str:
        """Return what was measured for an objective that is a duration."""
        return spread(run.objective(name) for run in self.runs)

    def part(self, name: str) -> str:
        """Return the longest part of that name that pauses consist of."""
        return spread(run.part(name) for run in self.runs)

    def number(self, expectation: str) -> str:
        """Return the number that an expectation was evaluated by."""
        return spread(run.number(expectation) for run in self.runs)

    def results(self, expectation: str) -> str:
        """Return how often an expectation was met, not met and not evaluated."""
        return tally(
            _outcome(item["result"])
            for run in self.runs
            for item in run.expectations
            if item["expectation"] == expectation
        )


def tally(words: Iterable[str]) -> str:
    """Return how often each word occurs, the most frequent first: ``4 Passed, 2 Degraded``."""
    return ", ".join(f"{count} {word}" for word, count in Counter(words).most_common())


def consistency(runs: Sequence[Result]) -> str:
    """Return in how many runs, from the last one back, every expectation came out the same."""
    if len(runs) == 1:
        return "1 run"
    last = runs[-1].fingerprint
    same = len(list(takewhile(lambda run: run.fingerprint == last, reversed(runs))))
    which = "" if same == len(runs) else "the last "
    builds = len({run.key for run in runs})
    by = f" ({builds} builds)" if builds > 1 else ""
    return f"every expectation came out the same in {which}{same} of {len(runs)} runs{by}"


def entries(scenarios: Sequence[Scenario], archive: Archive) -> list[Entry]:
    """Return the scenarios of which results are kept."""
    found = []
    for scenario in scenarios:
        runs = archive.runs(scenario.id)
        if runs:
            changed = runs[-1].manifest != scenario.digest
            text = scenario.description()
            found.append(Entry(scenario.id, scenario.name, scenario.turned, text, runs, changed))
    return found


def table(scenarios: Sequence[Scenario], archive: Archive, *, built: bool = False) -> str:
    """Return the table of all scenarios.

    Args:
        scenarios: all of the catalogue.
        archive: the results.
        built: whether it is one of the built pages, beside the page of each scenario.
    """
    found = entries(scenarios, archive)
    names = {entry.name for entry in found}
    return _template("README.md.j2").render(
        root=FROM_BUILD if built else FROM_DOCS,
        built=built,
        categories=[
            (category, [entry for entry in found if entry.text.category == category])
            for category in CATEGORIES
        ],
        count=len(found),
        outcomes=tally(str(entry.last.outcome) for entry in found),
        minutes=round(sum(entry.last.seconds for entry in found) / 60),
        first=min((entry.last.ended for entry in found), default="")[:10],
        latest=max((entry.last.ended for entry in found), default="")[:10],
        changed=[entry.name for entry in found if entry.changed],
        missing=[item.name for item in scenarios if item.name not in names],
    )


def matrix(scenarios: Sequence[Scenario], archive: Archive, *, built: bool = False) -> str:
    """Return the durability matrix; arguments as of `table`."""
    return _template("matrix.md.j2").render(
        root=FROM_BUILD if built else FROM_DOCS, tables=tables(scenarios, archive), columns=ACKS
    )


def modes(scenarios: Sequence[Scenario], archive: Archive, *, built: bool = False) -> str:
    """Return the results of ZooKeeper and KRaft mode side by side; arguments as of `table`."""
    both = (item.in_every_mode() for item in scenarios)
    found = (entries(variants, archive) for variants in both if len(variants) == len(Mode))
    pairs = [(pair[0], pair[1]) for pair in found if len(pair) == len(Mode)]
    return _template("modes.md.j2").render(
        root=FROM_BUILD if built else FROM_DOCS,
        built=built,
        pairs=pairs,
        changes=changes((zookeeper.runs, kraft.runs) for zookeeper, kraft in pairs),
        categories=[
            (category, [pair for pair in pairs if pair[0].text.category == category])
            for category in CATEGORIES
        ],
        changed=[entry.name for pair in pairs for entry in pair if entry.changed],
    )


def write(scenarios: Sequence[Scenario], archive: Archive, out: Path) -> int:
    """Write the table and the page of each scenario in each mode.

    Pages of scenarios that are no more are removed.

    Returns:
        How many scenarios have a page.
    """
    out.mkdir(parents=True, exist_ok=True)
    for page in out.glob("*.md"):
        page.unlink()
    variants = [variant for item in scenarios for variant in item.in_every_mode()]
    found = entries(variants, archive)
    for entry in found:
        text = _template("scenario.md.j2").render(
            entry=entry, last=entry.last, card=entry.last.card, root=FROM_BUILD
        )
        (out / f"{entry.name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")
    (out / "README.md").write_text(table(scenarios, archive, built=True), encoding="utf-8")
    (out / "matrix.md").write_text(matrix(scenarios, archive, built=True), encoding="utf-8")
    (out / "modes.md").write_text(modes(scenarios, archive, built=True), encoding="utf-8")
    return len({entry.manifest for entry in found})


def _cell(text: object) -> str:
    """Return a text that can stand in a cell of a markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _state(state: dict[str, Any] | None) -> str:
    if state is None:
        return "not observed"
    leader = "no leader" if state["leader"] < 0 else f"leader {state['leader']}"
    return f"{leader}, ISR {' '.join(map(str, state['isr']))}"


def _outcome(result: str) -> str:
    return {"Met": "met", "NotMet": "not met", "NotEvaluated": "not evaluated"}[result]


def _kinds(fault: dict[str, Any]) -> str:
    return ", ".join(sorted({item.get("kind", "") for item in fault["observations"]}))


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("krt_cli.scenarios", "templates"),
        autoescape=False,  # noqa: S701 - markdown; the filter cell escapes what runs contribute
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(cell=_cell, state=_state, outcome=_outcome, kinds=_kinds)
    return environment.get_template(name)
