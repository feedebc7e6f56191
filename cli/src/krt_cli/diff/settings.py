"""The settings in which runs differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PARTS = ("spec", "topics", "brokerConfig", "zookeeperConfig", "versions", "images")
"""Keys of the plan that hold settings; the others name the run and its addresses."""

ABSENT = "not set"


def differing(plans: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return (setting, its value in each plan) of what is not the same in all of them."""
    flat = [dict(_flat(_parts(plan))) for plan in plans]
    keys = sorted({key for settings in flat for key in settings})
    found = [(key, [settings.get(key, ABSENT) for settings in flat]) for key in keys]
    return [(key, values) for key, values in found if len(set(values)) > 1]


def _parts(plan: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: plan[key] for key in PARTS if key in plan}
    # The rest of metadata says which cluster it was.
    if features := (plan.get("metadata") or {}).get("features"):
        found["features"] = features
    return found


def _flat(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted name, value) of everything in a document; entries by their names."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _flat(item, f"{where}[{item.get('name', index)}]")
    elif isinstance(value, list):
        yield where, ", ".join(map(str, value)) or "empty"
    elif isinstance(value, bool):
        yield where, str(value).lower()
    else:
        yield where, str(value)
