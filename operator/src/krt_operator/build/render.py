"""Templates to objects. Templates hold shape, Python holds decisions."""

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
"""In C where PyYAML has it: ten times as fast, and a pass may render thirty objects."""
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@cache
def _environment() -> Environment:
    # What is rendered is YAML for the API server, never HTML; values go through tojson.
    environment = Environment(  # noqa: S701 - no markup
        loader=PackageLoader("krt_operator"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # jinja2's own tojson escapes for HTML (<, >, &, '), which a property file must not suffer.
    environment.filters["tojson"] = _json
    return environment


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def render(template: str, **values: Any) -> list[Json]:
    """The objects of a template; a value that is missing is an error, not an empty string."""
    text = _environment().get_template(template).render(**values)
    return [one for one in yaml.load_all(text, Loader=LOADER) if one]


def as_yaml(obj: Json) -> str:
    """An object as text, keys sorted."""
    text: str = yaml.dump(obj, Dumper=DUMPER, sort_keys=True)
    return text


@cache
def script(name: str) -> str:
    """A script the pods run, as it is."""
    return (files("krt_operator") / "templates" / "scripts" / name).read_text(encoding="utf-8")
