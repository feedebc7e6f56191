"""The result of a run as scoring left it: scorecard, series, and the plan that it was of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_cli.errors import CouldNotRunError
from krt_contract import SCHEMA_VERSION
from krt_contract.bundle import Bundle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCORE_IT = "score it with krt-score"


@dataclass(frozen=True, slots=True)
class Result:
    """A run that was scored.

    Attributes:
        name: what it is called beside others.
        card: the scorecard.
        series: the run second by second; None where it was not kept.
        plan: ``run.json``; empty where it was not kept.
    """

    name: str
    card: Mapping[str, Any]
    series: Mapping[str, Any] | None
    plan: Mapping[str, Any]


def load(path: Path, name: str) -> Result:
    """Return the result in a bundle, or of a scorecard alone.

    Args:
        path: the folder of a bundle, or a file with a scorecard.
        name: what the run is called beside others.

    Raises:
        CouldNotRunError: there is no scorecard of this release.
    """
    if path.is_dir():
        bundle = Bundle(path)
        card = _read(bundle.scorecard, f"{path} holds no scorecard.json", f"{SCORE_IT} {path}")
        series = _read(bundle.series) if bundle.series.is_file() else None
        plan = _read(bundle.run_json) if bundle.run_json.is_file() else {}
        return Result(name, card, series, plan)
    missing = f"{path} does not exist"
    return Result(name, _read(path, missing, "name the folder of a bundle"), None, {})


def _read(path: Path, missing: str = "", remedy: str = "") -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CouldNotRunError(missing or f"{path} does not exist", remedy) from error
    except (OSError, ValueError) as error:
        raise CouldNotRunError(f"{path} cannot be read as JSON ({error})") from error
    version = document.get("schemaVersion") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise CouldNotRunError(
            f"{path} has schemaVersion {version!r}, and this release reads {SCHEMA_VERSION}",
            "score the bundle with the krt-score of this release",
        )
    return dict(document)
