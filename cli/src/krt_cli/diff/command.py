"""Compares runs: the settings that differ, then the numbers, then charts over each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from krt_cli.diff import numbers, overlay, settings
from krt_cli.diff.results import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from krt_cli.diff.results import Result


def diff(paths: Sequence[Path], console: Console, page: Path | None = None) -> None:
    """Print in what runs differ, and write a page with their charts.

    Args:
        paths: bundles, or scorecards; the first is what the others are compared with.
        console: where the tables go.
        page: where the page goes; None for none.

    Raises:
        CouldNotRunError: one of them has no scorecard of this release.
    """
    results = [load(path, name) for path, name in zip(paths, names(paths), strict=True)]
    differing = settings.differing([item.plan for item in results])
    rows = numbers.rows([item.card for item in results])
    columns = [item.name for item in results]
    console.print("Settings that differ" if differing else "No recorded setting differs")
    if differing:
        _print(console, [["setting", *columns], *([key, *values] for key, values in differing)])
    console.print("\nNumbers, with the difference to the first run")
    _print(console, [["number", *columns], *([row.name, *row.values] for row in rows)])
    if page is not None:
        page.write_text(render(results, differing, rows), encoding="utf-8")
        console.print(f"\n{page}", markup=False)


def names(paths: Sequence[Path]) -> list[str]:
    """Return what the runs are called: by their folders, numbered where two are called the same."""
    called = [path.resolve().name for path in paths]
    return [
        name if called.count(name) == 1 else f"{index + 1} {name}"
        for index, name in enumerate(called)
    ]


def render(
    results: Sequence[Result],
    differing: Sequence[tuple[str, list[str]]],
    rows: Sequence[numbers.Row],
) -> str:
    """Return the comparison as one HTML page that loads nothing."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("krt_cli.diff", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Vega escapes the texts in what it draws.
    drawn = [(chart.title, Markup(chart.svg())) for chart in overlay.charts(results)]  # noqa: S704
    return environment.get_template("diff.html.j2").render(
        names=[item.name for item in results], differing=differing, rows=rows, charts=drawn
    )


def _print(console: Console, table: Sequence[Sequence[str]]) -> None:
    """Print a table no wider than needed, never cut; the last column is not padded."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        padded = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
        console.print("  ".join(padded).rstrip(), markup=False)
