from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.operator.doubles.world import World

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def make_world() -> Callable[..., World]:
    """Worlds by changes of the smallest spec."""
    return World


@pytest.fixture
def world() -> World:
    """A world under the smallest spec."""
    return World()
