"""The file of a test, as a user applies it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from krt_cli.errors import CouldNotRunError
from krt_contract.labels import KIND

STDIN = "-"
"""The name of a file that stands for standard input, as for kubectl."""


class Manifest:
    """A file with one test, and whatever other objects it needs.

    Args:
        text: the file's content, YAML or JSON.
        where: what messages call the file.

    Raises:
        CouldNotRunError: it is not YAML, or does not hold exactly one named test.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        try:
            documents = [item for item in yaml.safe_load_all(text) if item]
        except yaml.YAMLError as error:
            problem = " ".join(str(error).split())
            raise CouldNotRunError(f"{where} is not YAML: {problem}") from error
        objects = [item for document in documents for item in _objects(document)]
        tests = [item for item in objects if item.get("kind") == KIND]
        if len(tests) != 1:
            raise CouldNotRunError(
                f"{where} holds {len(tests) or 'no'} {KIND}{'s' if len(tests) > 1 else ''}",
                "krt run follows one test: put each into a file of its own",
            )
        metadata = tests[0].get("metadata") or {}
        if not metadata.get("name"):
            raise CouldNotRunError(
                f"the {KIND} in {where} has no metadata.name", "give it a name of its own"
            )
        self.name = str(metadata["name"])
        self.namespace: str | None = metadata.get("namespace")
        self.spec: dict[str, Any] = tests[0].get("spec") or {}


def read(file: str) -> Manifest:
    """Read a file, or standard input.

    Raises:
        CouldNotRunError: it cannot be read, or is no `Manifest`.
    """
    if file == STDIN:
        return Manifest(sys.stdin.read(), "standard input")
    try:
        return Manifest(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise CouldNotRunError(
            f"{file} cannot be read: {error}", "name a YAML file, or - for standard input"
        ) from error


def _objects(document: Any) -> list[dict[str, Any]]:
    """Return the objects of a document, which may be a List of them."""
    if not isinstance(document, dict):
        return []
    if document.get("kind") == "List":
        return [item for item in document.get("items") or () if isinstance(item, dict)]
    return [document]
