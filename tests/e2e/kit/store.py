"""The object store of the chart: killed, and brought back."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kit.controller import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.kubectl import Kubectl

STATEFUL_SET = f"{DEPLOYMENT}-store"
"""Name of the store's StatefulSet: release and chart, and what it is."""

READY_SECONDS = 120
"""How long the store may take to be ready again: its node may have to read the image from disk."""


@dataclass(frozen=True, slots=True)
class EvidenceStore:
    """The store's StatefulSet in the namespace of the release."""

    kubectl: Kubectl

    @contextmanager
    def unavailable(self) -> Iterator[None]:
        """Kill the store, and leave none until the context ends; then there is a ready one."""
        self._scale(0)
        try:
            # SIGKILL after a second, and the pod is there until its process has ended.
            self.kubectl(
                "delete", "pod", f"{STATEFUL_SET}-0", "--grace-period=1", "--ignore-not-found"
            )
            yield
        finally:
            self._scale(1)
            self.kubectl(
                "rollout",
                "status",
                f"statefulset/{STATEFUL_SET}",
                f"--timeout={READY_SECONDS}s",
                timeout=READY_SECONDS + 10,
            )

    def _scale(self, replicas: int) -> None:
        self.kubectl("scale", f"statefulset/{STATEFUL_SET}", f"--replicas={replicas}")
