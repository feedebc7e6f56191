"""Where the scenarios, the runs and the results lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from krt_cli.scenarios.archive import Archive
from krt_cli.scenarios.results import Store


def default_state() -> Path:
    """Return the state folder of the kind cluster, as hack/lib.sh has it."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    root = os.environ.get("KRT_STATE") or f"{home}/krt"
    return Path(root) / os.environ.get("KRT_CLUSTER", "krt")


@dataclass(frozen=True, slots=True)
class Places:
    """Folders and files of the scenarios.

    Attributes:
        manifests: the scenarios.
        docs: the table of results, README.md, and ``results/`` with the data.
        state: the state folder of the cluster.
    """

    manifests: Path
    docs: Path
    state: Path

    @property
    def images(self) -> Path:
        """The file that names the images the chart uses; written by hack/images.sh."""
        return self.state / "images.values.yaml"

    @property
    def evidence(self) -> Path:
        """The evidence volumes on this machine."""
        return Path(os.environ.get("KRT_EVIDENCE") or self.state / "evidence")

    @property
    def store(self) -> Store:
        """Where runs are stored."""
        return Store(self.state / "scenarios")

    @property
    def archive(self) -> Archive:
        """The results that lie in git."""
        return Archive(self.docs / "results")

    @property
    def matrix(self) -> Path:
        """The durability matrix."""
        return self.docs / "matrix.md"

    @property
    def modes(self) -> Path:
        """The results of both metadata modes side by side."""
        return self.docs / "modes.md"

    @property
    def table(self) -> Path:
        """The table of all scenarios."""
        return self.docs / "README.md"
