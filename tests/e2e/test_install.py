"""docs/how-to/install.md as a person follows it, on a cluster with nothing but its default storage.

The commands are those of the page. What is peculiar to this machine: the name of the registry,
which asks for no login, and a browser that only prints what it is to open.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from kit import artifacts
from kit.kubectl import Kubectl
from kit.run import score
from kit.terminal import Terminal, Typed, clone, commands

from krt_contract.schemas import OPTIONAL, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.install

PAGE = "docs/how-to/install.md"
IMAGES, CHART, FIRST_TEST = (
    "## 1. Images",
    "## 3. Chart",
    "## 4. Check, and run the first test",
)
REGISTRY = "registry.example.com"
"""The registry of the page."""

LOCAL_REGISTRY = f"localhost:{os.environ.get('KRT_REGISTRY_PORT', '5001')}"
"""The one next to the cluster."""

NAMESPACE, NAME = "krt-demo", "leader-crash"
"""What the page calls the first test."""


@dataclass(frozen=True)
class Session:
    """What was typed, what came of it, and the test as the cluster had it then.

    Attributes:
        terminal: where it was typed.
        typed: command → what became of it; a command that failed is the last one.
        opened: the file that notes what a browser was asked to open.
    """

    terminal: Terminal
    typed: dict[str, Typed]
    opened: Path

    def result(self, beginning: str) -> Typed:
        """Return the one command that begins so."""
        found = [item for command, item in self.typed.items() if command.startswith(beginning)]
        assert len(found) == 1, f"{beginning!r} is {len(found)} of {list(self.typed)}"
        return found[0]

    def test(self) -> dict[str, Any]:
        """Return the test that was run."""
        return Kubectl(NAMESPACE).get("krt", NAME)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    classes = Kubectl("default").items("storageclasses")
    if [item["metadata"]["name"] for item in classes] != ["standard"]:
        pytest.skip("needs a cluster with kind's default storage class only: run hack/e2e-install")
    home = tmp_path_factory.mktemp("home")
    opened = home / "opened"
    browser = home / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >{opened}\n')
    browser.chmod(0o755)
    terminal = Terminal.open(
        clone(tmp_path_factory.mktemp("clone")), home / "uv", BROWSER=str(browser)
    )
    found = Session(terminal, {}, opened)
    for command in [line for part in (IMAGES, CHART, FIRST_TEST) for line in commands(PAGE, part)]:
        if command.startswith("docker login "):
            continue
        found.typed[command] = terminal.type(command.replace(REGISTRY, LOCAL_REGISTRY))
        if found.typed[command].code:
            break
    report = Path(os.environ["KRT_E2E_ARTIFACTS"]) / "install.txt"
    report.write_text("\n".join(lines(found)) + "\n", encoding="utf-8")
    if any(item.code for item in found.typed.values()):
        # Now: the cluster is deleted with the script that has created it.
        artifacts.collect("install", NAMESPACE, "krt-system")
    return found


def lines(session: Session) -> Iterator[str]:
    """Yield what was typed with its seconds, what it took beyond the run, and what it printed."""
    for item in session.typed.values():
        yield f"{item.seconds:7.1f} s  exit {item.code}  {item.command}"
    if all(item.code == 0 for item in session.typed.values()):
        images = set(commands(PAGE, IMAGES))
        total = sum(item.seconds for name, item in session.typed.items() if name not in images)
        run = seconds_of_run(session.test())
        yield f"{total:7.1f} s  from the chart to the report, images built and pushed before"
        yield f"{run:7.1f} s  of these the run itself, from its creation to its end"
        yield f"{total - run:7.1f} s  beyond the run"
    for item in session.typed.values():
        yield f"\n$ {item.command}\n{item.output}"


def seconds_of_run(test: dict[str, Any]) -> float:
    created = datetime.fromisoformat(test["metadata"]["creationTimestamp"])
    ended = datetime.fromisoformat(test["status"]["completionTime"])
    return (ended - created).total_seconds()


def test_install_every_command_of_the_page_succeeds(session: Session) -> None:
    failed = [f"{item.command}:\n{item.output}" for item in session.typed.values() if item.code]
    assert not failed, failed[0]


def test_install_doctor_says_that_the_cluster_is_ready(session: Session) -> None:
    output = session.result("krt doctor").output
    assert "ready; next: krt run manifests/sample.yaml" in output
    assert not re.search(r"^(warning|blocker) ", output, re.MULTILINE), output
    assert "object store of the chart" in output


def test_install_store_is_on_an_ordinary_volume_and_no_claim_is_shared(session: Session) -> None:
    assert session.typed
    claims = Kubectl("default").items("persistentvolumeclaims", "--all-namespaces")
    modes = {item["metadata"]["name"]: item["spec"]["accessModes"] for item in claims}
    assert modes["data-krt-kafka-resilience-store-0"] == ["ReadWriteOnce"]
    assert all(value == ["ReadWriteOnce"] for value in modes.values()), modes


def test_install_run_ends_passed(session: Session) -> None:
    run = session.result("krt run")
    assert run.code == 0
    assert "verdict       Passed, score " in run.output
    status = session.test()["status"]
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert status["ledger"]["lost"] == 0


def test_install_report_is_opened_in_the_browser(session: Session) -> None:
    report = Path(unquote(urlsplit(session.opened.read_text().strip()).path))
    assert report == session.terminal.folder / f"{NAME}-report/report.html"
    assert "<title>Passed" in report.read_text(encoding="utf-8")


def test_install_evidence_is_copied_verified_and_scored_to_the_same_bytes(
    session: Session, tmp_path: Path
) -> None:
    """The command is the one that ``krt run`` prints in the end."""
    output = session.result("krt run").output
    [command] = re.findall(r"^\s*evidence +(krt evidence .*)$", output, re.MULTILINE)
    copied = session.terminal.type(command)
    assert copied.code == 0, copied.output
    assert "checksums verified" in copied.output
    bundle = session.terminal.folder / NAME
    assert json.loads((bundle / "run.json").read_text("utf-8"))["bundle"].startswith(NAMESPACE)
    for table in TABLES.keys() - OPTIONAL:
        assert list((bundle / table).rglob("*.parquet")), f"no {table} in {bundle}"
    checked = session.terminal.type(f"cd {NAME} && sha256sum --check --quiet SHA256SUMS")
    assert checked.code == 0, checked.output
    score(bundle, tmp_path / "scorecard.json")
    card = (tmp_path / "scorecard.json").read_bytes()
    assert card == (bundle / "scorecard.json").read_bytes()
