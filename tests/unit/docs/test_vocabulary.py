"""Names that were replaced before the first release must not return.

Kubernetes users, scorecard readers and developers meet one name for one thing. The changelog lists
the old names beside the new ones, and the code that refuses an old name has to spell it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SUFFIXES = {".py", ".md", ".yaml", ".j2", ".tpl", ".sh", ".txt", ".toml", ""}
"""Of text that people write; scripts and the Makefile have none."""

OLD_NAMES = (
    # Fields of the resource and its status.
    "downFor",
    "down_for",
    "spareController",
    "spare_controller",
    "nearReads",
    "near_reads",
    "displacedLeaders",
    "displaced_leaders",
    "leaderMoves",
    "leader_moves",
    "unforcedLeaderMoves",
    "controllerMoves",
    "controller_moves",
    "leaderlessPartitions",
    "leaderless_partitions",
    "healedAt",
    "healed_at",
    "intendedAt",
    "intended_at",
    "isrWholeAfter",
    "isrWholeAt",
    "isr_whole_after",
    "lagGoneAt",
    "sessionsLost",
    "sessions_lost",
    "idleMembers",
    "idle_members",
    "usedPartitions",
    "used_partitions",
    "detectorScore",
    "detector_score",
    # Ledger, scorecard and evidence.
    "blindSends",
    "blind_sends",
    "notLanded",
    "not_landed",
    "resurrected",
    "heldBy",
    "held_by",
    "gapsLeftOut",
    "handed_at",
    "handed_mono",
    "pos_in_poll",
    "produce_close",
    "log_bounds",
    # Reasons, conditions, phases and observations.
    "AllHeld",
    "AsExpected",
    "CloseMissing",
    "ClusterStands",
    "ClusterWhole",
    "CouldNotRun",
    "EndReached",
    "FaultHealed",
    "FlowsSlowly",
    "FromItsEnd",
    "FromStart",
    "HealFailed",
    "KafkaDidNotRecover",
    "NamesakeLeaving",
    "NoEffect",
    "NotHeld",
    "NotInTime",
    "NotMeasured",
    "PodGone",
    "PreferredLeads",
    "RecordsFlow",
    "TrafficVanished",
    "timeouts.comparison",
    # Chart and make.
    "releaseOnUninstall",
    "AT_ONCE",
)

ALLOWED = {
    "CHANGELOG.md",
    "helm/kafka-resilience/templates/_helpers.tpl",
    "helm/kafka-resilience/templates/crd.yaml",
    "manifests/crd.yaml",
    "operator/src/krt_operator/api/faults.py",
    "operator/src/krt_operator/api/targets.py",
    "tests/contract/chart/test_chart.py",
    "tests/contract/crd/cases.py",
    "tests/unit/docs/test_vocabulary.py",
    "tests/unit/operator/api/test_spec.py",
}
"""Files that refuse an old name, test the refusal, or explain the new one."""

PATTERN = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, OLD_NAMES))})(?![A-Za-z0-9_])")


def tracked_files() -> list[str]:
    """Return the repository's text files of the kinds that people read and write."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = (name for name in listed.splitlines() if Path(name).suffix in SUFFIXES)
    return sorted(name for name in names if (ROOT / name).is_file())


def old_names(text: str) -> list[str]:
    """Return where a text has old names, as ``line: name``."""
    return [
        f"{number}: {match.group()}"
        for number, line in enumerate(text.splitlines(), start=1)
        for match in PATTERN.finditer(line)
    ]


def test_repository_names_contain_no_old_name() -> None:
    files = tracked_files()
    found = [
        f"{name}:{place}"
        for name in files
        if name not in ALLOWED
        for place in old_names((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert len(files) > 100
    assert not found, "\n".join(found)


def test_allowed_files_exist_and_contain_an_old_name() -> None:
    assert [name for name in sorted(ALLOWED) if not old_names((ROOT / name).read_text())] == []


@pytest.mark.parametrize("line", ["downFor: 20s", "`status.detectorScore`", "x = row.handed_at"])
def test_old_names_in_a_line_are_found(line: str) -> None:
    assert len(old_names(line)) == 1


@pytest.mark.parametrize("line", ["duration: 20s", "isrRestoredAfter", "unhanded_at", "NoEffects"])
def test_old_names_as_part_of_a_longer_name_are_not_found(line: str) -> None:
    assert old_names(line) == []
