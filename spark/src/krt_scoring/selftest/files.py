"""Files that are torn, doubled or gone, looked at by the inspection in a folder of links.

The folder is a temporary one: links to the bundle's files, and beside them what is damaged.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.bundle import Bundle
from krt_scoring.inputs import bundle_files
from krt_scoring.selftest.difference import Difference, ReasonIdentity, identities
from krt_scoring.selftest.results import CorruptionResult

if TYPE_CHECKING:
    from krt_scoring.inputs.bundle_files import Inspection

TORN_BYTES = 4096
"""Bytes kept of a torn file: its footer is gone, whatever its size."""

_NUMBERED = re.compile(r"^(?P<stem>.+)-(?P<number>\d{6})\.parquet$")


def run(inspected: Inspection, seed: int) -> tuple[list[CorruptionResult], dict[str, str]]:
    """Return the outcomes, and what those need that could not be tried."""
    results, inapplicable = [], {}
    for name, (needs, hosts, damage) in KINDS.items():
        chance = random.Random(f"{seed} {name}")  # noqa: S311 (it chooses a file, no secrets)
        able = [table for table in sorted(inspected.files) if hosts(inspected.files[table])]
        sound = [table for table in able if table not in inspected.left_out]
        if not sound:
            inapplicable[name] = needs
            continue
        table = chance.choice(sound)
        results.append(_tried(name, inspected.files[table], table, chance, damage))
    return results, inapplicable


def _tried(
    name: str,
    paths: Sequence[Path],
    table: str,
    chance: random.Random,
    damage: Damage,
) -> CorruptionResult:
    with tempfile.TemporaryDirectory(prefix="krt-selftest-") as root:
        bundle = Bundle(Path(root))
        folder = bundle.table(table)
        folder.mkdir()
        for path in paths:
            (folder / path.name).symlink_to(path.resolve())
        before = identities(bundle_files.inspect_table(bundle, table).reasons)
        code, file = damage(folder, paths, chance)
        after = identities(bundle_files.inspect_table(bundle, table).reasons)
    reason: ReasonIdentity = ("evidence", code, f"{table}/{file}")
    expected = Difference(reasons=frozenset({reason}))
    unexpected = Difference(reasons=after ^ before) - expected
    return CorruptionResult(name, {"file": f"{table}/{file}"}, expected, unexpected, not unexpected)


def _torn(folder: Path, paths: Sequence[Path], chance: random.Random) -> tuple[str, str]:
    path = chance.choice(paths)
    with path.open("rb") as file:
        start = file.read(min(TORN_BYTES, path.stat().st_size // 2))
    (folder / path.name).unlink()
    (folder / path.name).write_bytes(start)
    return "FileUnreadable", path.name


def _doubled(folder: Path, paths: Sequence[Path], chance: random.Random) -> tuple[str, str]:
    path = chance.choice(paths)
    # Behind its original in order, which is the one that counts.
    name = f"~{path.stem}-copy.parquet"
    (folder / name).symlink_to(path.resolve())
    return "FileDuplicated", name


def _gone(folder: Path, paths: Sequence[Path], chance: random.Random) -> tuple[str, str]:
    path = chance.choice(_followed(paths))
    (folder / path.name).unlink()
    return "FileMissing", path.name


def _followed(paths: Sequence[Path]) -> list[Path]:
    """The numbered files behind which their writer wrote another."""
    highest: dict[str, int] = {}
    for path in paths:
        match = _NUMBERED.match(path.name)
        if match:
            highest[match["stem"]] = max(highest.get(match["stem"], 0), int(match["number"]))
    return [
        path
        for path in paths
        if (match := _NUMBERED.match(path.name)) and int(match["number"]) < highest[match["stem"]]
    ]


Damage = Callable[[Path, Sequence[Path], random.Random], tuple[str, str]]

KINDS: dict[str, tuple[str, Callable[[Sequence[Path]], bool], Damage]] = {
    "torn-file": ("a ledger file", bool, _torn),
    "doubled-file": ("a ledger file", bool, _doubled),
    "missing-file": (
        "a writer with more than one numbered file",
        lambda paths: bool(_followed(paths)),
        _gone,
    ),
}
"""Name → what it needs, which tables can host it, what it does: code and file of the reason."""
