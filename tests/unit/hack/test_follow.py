from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SPEC = importlib.util.spec_from_file_location("follow", ROOT / "hack" / "follow.py")
assert SPEC is not None
assert SPEC.loader is not None
follow = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(follow)

TEST: dict[str, Any] = {
    "metadata": {
        "name": "sample",
        "namespace": "ns",
        "uid": "u1",
        "creationTimestamp": "2026-11-21T04:00:00Z",
    },
    "status": {
        "phase": "Completed",
        "verdict": "Passed",
        "score": 97,
        "summary": "nothing lost",
        "completionTime": "2026-11-21T04:03:00.000000Z",
        "phases": [
            {
                "name": "Pending",
                "startTime": "2026-11-21T04:00:01.000000Z",
                "endTime": "2026-11-21T04:00:03.000000Z",
            },
            {"name": "Completed", "startTime": "2026-11-21T04:03:00.000000Z"},
        ],
        "faults": [
            {
                "name": "leader-down",
                "injectedAt": "2026-11-21T04:01:00.500000Z",
                "targets": [{"member": "kafka-1", "zone": "zone-b"}],
                "observations": [
                    {"kind": "IsrShrank", "subject": "__consumer_offsets-0", "at": None},
                    {"kind": "IsrShrank", "subject": "foo-0", "at": None, "detail": "[1, 2]"},
                    {"kind": "LeaderMoved", "subject": "foo-0", "at": None},
                ],
            }
        ],
        "ledger": {"attempted": 10, "acked": 10},
        "conditions": [
            {
                "type": "Finished",
                "status": "True",
                "reason": "Completed",
                "lastTransitionTime": "2026-11-21T04:03:00Z",
            },
            {"type": "Succeeded", "status": "Unknown", "lastTransitionTime": "x"},
        ],
    },
}


def test_documents_are_split_where_kubectl_ends_them() -> None:
    text = json.dumps({"a": {"b": 1}}, indent=4) + "\n" + json.dumps({"c": 2}, indent=4) + "\n"
    assert list(follow.documents(io.StringIO(text))) == [{"a": {"b": 1}}, {"c": 2}]


def test_each_thing_is_said_once_and_in_order_of_time() -> None:
    narrator = follow.Narrator()
    lines = list(narrator.lines(TEST))
    assert lines == [
        "    1.0 s  phase Pending",
        "   60.5 s    proof IsrShrank: foo-0 [1, 2] (and 1 more)",
        "   60.5 s    proof LeaderMoved: foo-0",
        "   60.5 s  fault leader-down injected: kafka-1 (zone-b)",
        "  180.0 s  phase Completed",
        "  180.0 s    Finished=True Completed",
    ]
    assert list(narrator.lines(TEST)) == []


def test_a_condition_that_comes_back_is_said_again() -> None:
    narrator = follow.Narrator()
    seen = []
    for second, status in ((10, "True"), (20, "False"), (30, "True")):
        condition = {
            "type": "TrafficEstablished",
            "status": status,
            "reason": "R",
            "lastTransitionTime": f"2026-11-21T04:00:{second}Z",
        }
        test = {"metadata": TEST["metadata"], "status": {"conditions": [condition]}}
        seen += [*narrator.lines(test), *narrator.lines(test)]
    assert [line.split()[-2] for line in seen] == [
        "TrafficEstablished=True",
        "TrafficEstablished=False",
        "TrafficEstablished=True",
    ]


def test_the_end_names_times_ledger_verdict_and_evidence(tmp_path: Path) -> None:
    home = tmp_path / "pvc-1_ns_krt-evidence" / "ns" / "sample" / "u1"
    home.mkdir(parents=True)
    text = "\n".join(follow.closing(TEST, tmp_path))
    assert "phases    Pending 2 s" in text
    assert "in all    180 s" in text
    assert "verdict   Passed, score 97" in text
    assert f"evidence  {home}" in text


def test_it_ends_with_the_test_although_the_watch_does_not(tmp_path: Path) -> None:
    kubectl = tmp_path / "cache" / "bin" / "kubectl"
    kubectl.parent.mkdir(parents=True)
    (tmp_path / "seen.json").write_text(json.dumps(TEST, indent=2) + "\n")
    kubectl.write_text(
        "#!/bin/sh\n"
        f"echo $$ >{tmp_path}/pid\n"
        f'echo "$@" >{tmp_path}/arguments\n'
        f"cat {tmp_path}/seen.json\n"
        "exec sleep 600\n"
    )
    kubectl.chmod(0o755)
    env = {
        **os.environ,
        "KRT_CACHE": str(tmp_path / "cache"),
        "KRT_STATE": str(tmp_path / "state"),
        "PATH": f"{kubectl.parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        [ROOT / "hack" / "follow", "sample", "ns"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "verdict   Passed, score 97" in done.stdout
    arguments = (tmp_path / "arguments").read_text()
    assert arguments == "--namespace ns get krt sample --watch -o json\n"
    watch = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(watch, 0)


def test_the_end_says_which_claims_did_not_hold(tmp_path: Path) -> None:
    assert "expectationResults" not in "\n".join(follow.closing(TEST, tmp_path))
    claims = {"met": 3, "notMet": ["loss", "hosts"]}
    test = {**TEST, "status": {**TEST["status"], "expectationResults": claims}}
    told = [
        line for line in follow.closing(test, tmp_path) if line.startswith("expectationResults")
    ]
    assert told == ["claims    3 held; not met: loss, hosts"]
