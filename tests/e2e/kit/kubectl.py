"""kubectl as a user calls it; every failure shows the command and its error."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any


class KubectlError(AssertionError):
    """kubectl failed; the message holds the command and its standard error."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Calls kubectl in one namespace.

    Attributes:
        namespace: the namespace every call names.
    """

    namespace: str

    def __call__(self, *args: str, stdin: str | None = None, timeout: float = 60) -> str:
        """Run one command and return its standard output.

        Raises:
            KubectlError: it exited non-zero.
        """
        command = ["kubectl", "--namespace", self.namespace, *args]
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=timeout, check=False
        )
        if done.returncode != 0:
            raise KubectlError(f"{' '.join(command)} exited {done.returncode}:\n{done.stderr}")
        return done.stdout

    def get(self, *args: str) -> dict[str, Any]:
        """Return an object (or a list of them) as kubectl prints it in JSON."""
        found: dict[str, Any] = json.loads(self("get", *args, "-o", "json"))
        return found

    def items(self, *args: str) -> list[dict[str, Any]]:
        """Return the objects a ``kubectl get`` lists."""
        listed: list[dict[str, Any]] = self.get(*args)["items"]
        return listed

    def apply(self, *objects: dict[str, Any]) -> None:
        """Apply objects as ``kubectl apply -f`` does."""
        body = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self("apply", "-f", "-", stdin=json.dumps(body))
