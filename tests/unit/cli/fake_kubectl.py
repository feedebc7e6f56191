"""A kubectl for tests: an executable on PATH that gives prepared answers and records its calls."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """#!{python}
import json, os, pathlib, subprocess, sys, time
home = pathlib.Path({home!r})
line = " ".join(sys.argv[1:])
with open(home / "calls", "a") as calls:
    calls.write(json.dumps([os.getpid(), line]) + "\\n")
stdin = sys.stdin.read() if "-" in sys.argv else ""
if stdin:
    (home / "stdin").write_text(stdin)
    (home / f"stdin-{{len(list(home.glob('stdin-*')))}}").write_text(stdin)
for path in sorted(home.glob("answer-*.json")):
    answer = json.loads(path.read_text())
    if set(answer["words"].split()) <= set(sys.argv):
        if not answer["always"]:
            path.unlink()
        if answer["volume"]:
            command = sys.argv[sys.argv.index("--") + 1 :]
            command = [word.replace("/evidence/", answer["volume"] + "/") for word in command]
            done = subprocess.run(command, input=stdin.encode(), stdout=subprocess.PIPE)
            output = done.stdout[: answer["cut"]] if answer["cut"] else done.stdout
            sys.stdout.buffer.write(output)
            sys.exit(done.returncode)
        sys.stdout.write(answer["stdout"])
        sys.stdout.flush()
        sys.stderr.write(answer["stderr"])
        if answer["stay"]:
            time.sleep(600)
        sys.exit(answer["code"])
"""


def event(test: dict[str, Any], kind: str = "MODIFIED") -> str:
    """Return a watch event as kubectl prints it."""
    return json.dumps({"type": kind, "object": test}) + "\n"


class FakeKubectl:
    """The answers to give, and the calls that were made."""

    def __init__(self, home: Path) -> None:
        self.home = home
        program = home / "bin" / "kubectl"
        program.parent.mkdir(parents=True)
        program.write_text(SCRIPT.format(python=sys.executable, home=str(home)))
        program.chmod(0o755)
        self.folder = program.parent
        self._count = 0

    def answers(  # noqa: PLR0913 - what a command can do
        self,
        words: str,
        stdout: str = "",
        *,
        code: int = 0,
        stderr: str = "",
        stay: bool = False,
        always: bool = False,
        volume: str = "",
        cut: int = 0,
    ) -> None:
        """Answer the next call (or every call) whose arguments hold all ``words``.

        With ``volume``, what stands behind ``--`` is executed, with that folder for /evidence; with
        ``cut``, only the first bytes of its output arrive.
        """
        answer = {
            "words": words,
            "stdout": stdout,
            "code": code,
            "stderr": stderr,
            "stay": stay,
            "always": always,
            "volume": volume,
            "cut": cut,
        }
        (self.home / f"answer-{self._count:03}.json").write_text(json.dumps(answer))
        self._count += 1

    def _records(self) -> list[list[Any]]:
        calls = self.home / "calls"
        return (
            [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
        )

    def calls(self) -> list[str]:
        """Return the arguments of each call."""
        return [record[1] for record in self._records()]

    def pids(self) -> list[int]:
        """Return the process id of each call."""
        return [record[0] for record in self._records()]
