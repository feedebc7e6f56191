"""Bundles that another release recorded are refused before anything is read or written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krt_contract import SCHEMA_VERSION
from krt_scoring.errors import NotABundleError

if TYPE_CHECKING:
    from krt_contract.bundle import Bundle


def require_current(bundle: Bundle) -> None:
    """Refuse a bundle of another schema version; what else is wrong with it is found later.

    Raises:
        NotABundleError: its run.json names another version.
    """
    try:
        document = json.loads(bundle.run_json.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    version = document.get("schemaVersion") if isinstance(document, dict) else None
    if version is not None and version != SCHEMA_VERSION:
        raise NotABundleError(
            f"{bundle.root}: the bundle has schema version {version}, but this release reads "
            f"version {SCHEMA_VERSION} only; score it with the release that recorded it, or run "
            "the test again"
        )
