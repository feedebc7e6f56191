"""The scenarios of a folder: their manifests, what these say, and what a run of one is known by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import yaml

from krt_cli.errors import CouldNotRunError
from krt_cli.scenarios.kraft import OneModeError, is_kraft, to_kraft

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

KRAFT_SUFFIX = ".kraft"
"""What the id of a scenario that was turned into KRaft mode ends with; no resource's name has a
dot."""


class Mode(StrEnum):
    """Where the cluster of a scenario keeps its metadata."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


class Modes(StrEnum):
    """The modes that scenarios are run in."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"
    BOTH = "both"

    @property
    def each(self) -> tuple[Mode, ...]:
        """These modes."""
        return tuple(Mode) if self is Modes.BOTH else (Mode(self),)


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
    """A manifest of the catalogue, in one mode.

    Attributes:
        path: the file.
        turned: whether its resource, of ZooKeeper mode, is turned into one of KRaft mode.
    """

    path: Path
    turned: bool = False

    @property
    def name(self) -> str:
        """Its name: that of the file and of the resource."""
        return self.path.stem

    @property
    def id(self) -> str:
        """What its runs and results are known by; another one in each mode."""
        return f"{self.name}{KRAFT_SUFFIX}" if self.turned else self.name

    @property
    def mode(self) -> Mode:
        """The mode that it runs in."""
        return Mode.KRAFT if self.turned or is_kraft(self._resource()) else Mode.ZOOKEEPER

    @property
    def digest(self) -> str:
        """What its resource is known by."""
        return _digest(self.manifest())

    def manifest(self) -> str:
        """Return what is applied: the file, or its resource in KRaft mode below its comment.

        Raises:
            OneModeError: the resource has no equal in KRaft mode.
        """
        text = self.path.read_text(encoding="utf-8")
        if not self.turned:
            return text
        made = f"#\n# In KRaft mode, made from {self.path.name} by krt scenarios.\n"
        resource = yaml.safe_dump(to_kraft(self._resource()), sort_keys=False)
        return "".join(_head(text)) + made + resource

    def in_mode(self, mode: Mode) -> Scenario:
        """Return the same scenario in a mode.

        Raises:
            OneModeError: it has no such mode; the message says why.
        """
        written = replace(self, turned=False)
        if written.mode is mode:
            return written
        if mode is Mode.ZOOKEEPER:
            raise OneModeError("its resource is one of KRaft mode")
        to_kraft(self._resource())
        return replace(self, turned=True)

    def in_every_mode(self) -> list[Scenario]:
        """Return the scenario in each mode that it has, ZooKeeper mode first."""
        found = []
        for mode in Mode:
            try:
                found.append(self.in_mode(mode))
            except OneModeError:
                continue
        return found

    def _resource(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        return found

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
        return hashlib.sha256(product + self.manifest().encode()).hexdigest()[:LENGTH]


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


def in_modes(found: Sequence[Scenario], modes: Modes, *, named: bool) -> list[Scenario]:
    """Return scenarios in each of these modes that they have.

    Args:
        found: the scenarios.
        modes: the modes.
        named: whether somebody named these scenarios, so that each shall run in one of the modes.

    Raises:
        CouldNotRunError: a scenario that somebody named has none of the modes.
    """
    chosen = []
    for scenario in found:
        reasons = []
        for mode in modes.each:
            try:
                chosen.append(scenario.in_mode(mode))
            except OneModeError as error:
                reasons.append(str(error))
        if named and len(reasons) == len(modes.each):
            raise CouldNotRunError(
                f"scenario {scenario.name} does not run in {modes} mode: {'; '.join(reasons)}",
                f"run it with --mode {scenario.mode}",
            )
    return chosen


def describe(manifest: str) -> Description:
    """Return what a manifest's first comment says; a text it does not hold is empty."""
    lines = [line.removeprefix("#").strip() for line in _head(manifest)]
    labels = (CATEGORY, FAULT, RESULT, REFERENCE)
    prose = " ".join(line for line in lines if not line.startswith(labels))
    setting, _, expected = (" ".join(part.split()) for part in prose.partition(EXPECTED))
    category, fault, result = (" ".join(_labelled(lines, label)) for label in labels[:3])
    references = tuple(_labelled(lines, REFERENCE))
    expected = expected[:1].upper() + expected[1:]
    return Description(setting, expected, category, fault, result, references)


def _head(manifest: str) -> list[str]:
    """Return the lines of the first comment."""
    lines = manifest.splitlines(keepends=True)
    return list(takewhile(lambda line: line.startswith("#"), lines))


def _labelled(lines: Sequence[str], label: str) -> list[str]:
    return [line.removeprefix(label).strip() for line in lines if line.startswith(label)]


def digest(manifest: Path) -> str:
    """Return what the resource of a manifest is known by; comments and layout do not count."""
    return _digest(manifest.read_text(encoding="utf-8"))


def _digest(manifest: str) -> str:
    resources = list(yaml.safe_load_all(manifest))
    text = json.dumps(resources, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
