"""Property tests are about values; how long one takes says how busy the machine is."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("krt", deadline=None)
settings.load_profile("krt")
