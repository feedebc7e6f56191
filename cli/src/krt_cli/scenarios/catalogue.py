"""The scenarios of a folder: their manifests, what these say, and what a run of one is known by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import yaml

from krt_cli.errors import CouldNotRunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXPECTED = "Expected behaviour:"
"""What separates the setting from the expected behaviour in a manifest's first comment."""

CATEGORY, FAULT, RESULT, REFERENCE = "Category:", "Fault:", "Result:", "Reference:"
"""What begins the lines for the table of results: the category; what fails and what Kafka does, in
a few words; the address of a document that promises it."""

CATEGORIES = (
    "Durability",
    "Availability",
    "Consumers and groups",
    "Exactly-once and order",
    "ZooKeeper and controller",
    "Placement",
)
"""The categories, in the order of the table of results."""

LENGTH = 12
"""Hexadecimal digits of a key or digest."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a manifest's first comment says.

    Attributes:
        setting: what is done.
        expected: the expected behaviour.
        category: one of CATEGORIES.
        fault: what fails, in a few words.
        result: what Kafka does, in a few words.
        references: addresses of documents that promise the expected behaviour.
    """

    setting: str
    expected: str
    category: str
    fault: str
    result: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A manifest of the catalogue.

    Attributes:
        path: the file.
    """

    path: Path

    @property
    def name(self) -> str:
        """Its name: that of the file and of the resource."""
        return self.path.stem

    @property
    def digest(self) -> str:
        """What its resource is known by."""
        return digest(self.path)

    def description(self) -> Description:
        """Return what the manifest's first comment says.

        Raises:
            CouldNotRunError: it does not say what the table of results needs.
        """
        found = describe(self.path.read_text(encoding="utf-8"))
        if found.category not in CATEGORIES or not (found.fault and found.result):
            raise CouldNotRunError(
                f"the first comment of {self.path} does not say what the table of results needs",
                f"add the lines '# {CATEGORY} ...' (one of {', '.join(CATEGORIES)}), "
                f"'# {FAULT} ...' and '# {RESULT} ...', a few words each",
            )
        return found

    def key(self, images: Path) -> str:
        """Return what a run is stored under: it changes with the manifest and with the images.

        Args:
            images: the file that names the images; need not exist.
        """
        product = images.read_bytes() if images.exists() else b""
        return hashlib.sha256(product + self.path.read_bytes()).hexdigest()[:LENGTH]


def scenarios(folder: Path, names: Sequence[str] = ()) -> list[Scenario]:
    """Return the scenarios of these names, in their order; without names all, in order of name.

    Raises:
        CouldNotRunError: there is no scenario of such a name.
    """
    if not names:
        return [Scenario(path) for path in sorted(folder.glob("*.yaml"))]
    for name in names:
        if not (folder / f"{name}.yaml").is_file():
            raise CouldNotRunError(
                f"there is no scenario {name} in {folder}", "krt scenarios run --list names them"
            )
    return [Scenario(folder / f"{name}.yaml") for name in names]


def describe(manifest: str) -> Description:
    """Return what a manifest's first comment says; a text it does not hold is empty."""
    comment = takewhile(lambda line: line.startswith("#"), manifest.splitlines())
    lines = [line.removeprefix("#").strip() for line in comment]
    labels = (CATEGORY, FAULT, RESULT, REFERENCE)
    prose = " ".join(line for line in lines if not line.startswith(labels))
    setting, _, expected = (" ".join(part.split()) for part in prose.partition(EXPECTED))
    category, fault, result = (" ".join(_labelled(lines, label)) for label in labels[:3])
    references = tuple(_labelled(lines, REFERENCE))
    expected = expected[:1].upper() + expected[1:]
    return Description(setting, expected, category, fault, result, references)


def _labelled(lines: Sequence[str], label: str) -> list[str]:
    return [line.removeprefix(label).strip() for line in lines if line.startswith(label)]


def digest(manifest: Path) -> str:
    """Return what the resource of a manifest is known by; comments and layout do not count."""
    resources = list(yaml.safe_load_all(manifest.read_text(encoding="utf-8")))
    text = json.dumps(resources, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
