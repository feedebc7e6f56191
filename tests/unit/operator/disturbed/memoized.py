"""Parses each rendered text and each plan once, however many runs are played.

Parsing is pure, and it is half of the time of a run.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from unittest import mock

import yaml

from krt_operator.api.plan import Plan
from krt_operator.build import render
from krt_operator.engine import reading

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def _objects(text: str) -> bytes:
    return pickle.dumps(list(yaml.load_all(text, Loader=render.LOADER)))


class _Yaml:
    """As much of yaml as `render` uses."""

    dump = staticmethod(yaml.dump)

    @staticmethod
    def load_all(text: str, **_: Any) -> list[Any]:
        found: list[Any] = pickle.loads(_objects(text))  # noqa: S301 - our own
        return found


class _Plans:
    """As much of Plan as `reading` uses; a plan is immutable."""

    from_json = staticmethod(cache(Plan.from_json))


@contextmanager
def memoized() -> Iterator[None]:
    """Parse the same text once while the context lasts."""
    with mock.patch.object(render, "yaml", _Yaml), mock.patch.object(reading, "Plan", _Plans):
        yield
