"""The files that scoring writes into the bundle, beside the ledgers, which it only reads."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from krt_contract.bundle import make_directory, write_text
from krt_scoring.errors import NotWritableError
from krt_scoring.outputs import job_summary, junit, series
from krt_scoring.outputs.report import render
from krt_scoring.outputs.scorecard import dump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from krt_contract.bundle import Bundle
    from krt_scoring.pipeline import Assessment


def write(bundle: Bundle, result: Assessment) -> None:
    """Write scorecard, series, JUnit file, summary and report, each whole or not at all."""
    write_text(bundle.scorecard, dump(result.card))
    if result.series is not None:
        write_text(bundle.series, series.dump(result.series))
    write_text(bundle.junit, junit.render(result.card))
    write_text(bundle.summary, job_summary.render(result.card))
    page = render(result.card, result.events, result.series, result.run)
    write_text(bundle.report, page)


def results(bundle: Bundle) -> tuple[Path, ...]:
    """Return every file that scoring may write."""
    return (
        bundle.scorecard,
        bundle.series,
        bundle.junit,
        bundle.summary,
        bundle.report,
        bundle.scoring,
    )


def require_place(bundle: Bundle, out: Path | None) -> None:
    """Check that the outputs can be written, before minutes are spent on their content.

    Args:
        bundle: where they go.
        out: the file for the scorecard, where nothing goes into the bundle.

    Raises:
        NotWritableError: no file can be made there.
    """
    if out is not None and out.is_dir():
        raise NotWritableError(f"{out} is a directory: name a file with --out FILE")
    with writing(bundle, out):
        folder = bundle.root if out is None else out.parent
        make_directory(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass


@contextmanager
def writing(bundle: Bundle, out: Path | None) -> Iterator[None]:
    """Raise one error for whatever prevents the outputs from being written within the block.

    Raises:
        NotWritableError: the file system refused, and what to do about it.
    """
    try:
        yield
    except OSError as error:
        cause = error.strerror or error
        if out is not None:
            raise NotWritableError(
                f"{out} cannot be written ({cause}): name another file with --out FILE"
            ) from error
        raise NotWritableError(
            f"{bundle.root} cannot be written to ({cause}): --out FILE writes the scorecard to a "
            "file elsewhere and nothing into the bundle"
        ) from error
