"""Renders templates to objects. Templates hold the shape, Python makes the decisions."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from krt_operator.engine.views import Json


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""LibYAML where PyYAML was built with it: ten times as fast, and a pass may render 30 objects."""
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@cache
def _environment() -> Environment:
    # The output is YAML for the API server, never HTML; values are quoted by tojson.
    environment = Environment(  # noqa: S701 - no markup
        loader=PackageLoader("krt_operator"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # jinja2's own tojson escapes <, >, & and ' for HTML, which would corrupt a properties file.
    environment.filters["tojson"] = _json
    return environment


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def render(template: str, **values: Any) -> list[Json]:
    """The objects of a template.

    Raises:
        jinja2.UndefinedError: the template uses a value that was not given.
    """
    text = _environment().get_template(template).render(**values)
    return [obj for obj in yaml.load_all(text, Loader=LOADER) if obj]


def as_yaml(obj: Json) -> str:
    """An object as YAML text, keys sorted."""
    text: str = yaml.dump(obj, Dumper=DUMPER, sort_keys=True)
    return text


@cache
def script(name: str) -> str:
    """The text of a script that pods run, such as `member.sh`."""
    return (files("krt_operator") / "templates" / "scripts" / name).read_text(encoding="utf-8")
