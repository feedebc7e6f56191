"""Property tests are about values; how long one takes says how busy the machine is."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("krt", deadline=None)
settings.load_profile("krt")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that requests waited; the clock of their deadline moves by them alone."""
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waited.append)
    monkeypatch.setattr("tenacity.time.monotonic", lambda: sum(waited))
    return waited
