"""NetworkPolicies on the cluster: enforced for a while, and made by the controller."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kit.controller import RELEASE
from kit.run import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.kubectl import Kubectl

BUILD_SECONDS = 1500
"""How long kube-router and its image may take where nothing of them is cached."""

INSTALL_SECONDS = 180

SCRAPER = {"app": "scraper"}
"""Labels of the pod that may scrape metrics."""


@contextmanager
def enforced() -> Iterator[None]:
    """Have NetworkPolicies enforced on every node; afterwards, nobody enforces them."""
    try:
        _run("hack/enforce-policies", "up", within=BUILD_SECONDS)
        yield
    finally:
        _run("hack/enforce-policies", "down", within=INSTALL_SECONDS)


@contextmanager
def created(operator: Kubectl) -> Iterator[None]:
    """Have the controller create NetworkPolicies of tests; afterwards, the release is as before."""
    release = ("--namespace", operator.namespace)
    found = json.loads(_run("helm", "status", RELEASE, *release, "-o", "json", within=60))
    values = (
        "networkPolicy.enabled=true",
        "networkPolicy.tests.enabled=true",
        *(
            f"networkPolicy.metricsFrom[0].podSelector.matchLabels.{k}={v}"
            for k, v in SCRAPER.items()
        ),
    )
    settings = [part for value in values for part in ("--set", value)]
    chart, wait = "helm/kafka-resilience", ("--wait", "--timeout", f"{INSTALL_SECONDS}s")
    try:
        _run(
            *("helm", "upgrade", RELEASE, chart, *release, *wait),
            *("--reset-then-reuse-values", *settings),
            within=INSTALL_SECONDS + 20,
        )
        yield
    finally:
        _run(
            *("helm", "rollback", RELEASE, str(found["version"]), *release, *wait),
            within=INSTALL_SECONDS + 20,
        )


def _run(*command: str, within: float) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=within, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)} exited {done.returncode}:\n{done.stderr}"
    return done.stdout
