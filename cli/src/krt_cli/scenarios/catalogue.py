"""The scenarios of a folder: their manifests, what these say, and what a run of one is known by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from krt_cli.errors import CouldNotRunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXPECTED = "Expected behaviour:"
"""What separates the setting from the expected behaviour in a manifest's first comment."""

LENGTH = 12
"""Hexadecimal digits of a key or digest."""


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

    def description(self) -> tuple[str, str]:
        """Return the setting and the expected behaviour, from the manifest's first comment."""
        return describe(self.path.read_text(encoding="utf-8"))

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


def describe(manifest: str) -> tuple[str, str]:
    """Return what a manifest's first comment says: the setting, and what is expected."""
    lines = []
    for line in manifest.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    setting, _, expected = (" ".join(part.split()) for part in " ".join(lines).partition(EXPECTED))
    return setting, expected[:1].upper() + expected[1:]


def digest(manifest: Path) -> str:
    """Return what the resource of a manifest is known by; comments and layout do not count."""
    resources = list(yaml.safe_load_all(manifest.read_text(encoding="utf-8")))
    text = json.dumps(resources, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
