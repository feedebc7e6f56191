from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.unit.cli.fake_kubectl import FakeKubectl

from krt_cli import kubectl as module

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    """A kubectl on PATH that answers what the test says."""
    fake = FakeKubectl(tmp_path / "kubectl")
    monkeypatch.setenv("PATH", f"{fake.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("KRT_EVIDENCE", raising=False)
    return fake


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a watch that ended be started again at once."""
    monkeypatch.setattr(module, "PAUSE_S", 0.0)
