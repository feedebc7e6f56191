from __future__ import annotations

import sys
from pathlib import Path

import pytest

# For the modules beside this file: pytest's importlib mode puts nothing on the path.
sys.path.insert(0, str(Path(__file__).parents[4]))

from tests.unit.operator.faults.simulated import Killed, Sim


@pytest.fixture
def simulate() -> type[Sim]:
    return Sim


@pytest.fixture
def killed() -> type[Killed]:
    return Killed
