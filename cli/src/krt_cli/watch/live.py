"""Shows the traffic of a test while it runs: rates, lag, and outages as they happen."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from krt_cli.api_proxy import ApiProxy, api_proxy
from krt_cli.errors import KubectlError
from krt_cli.ticker import Background
from krt_cli.watch.progress import timed
from krt_cli.watch.remaining import describe_now
from krt_cli.watch.samples import Sample, read_sample
from krt_cli.watch.traffic import Traffic
from krt_contract.labels import LABEL_COMPONENT, LABEL_TEST_UID, Component
from krt_contract.metrics import PORT

if TYPE_CHECKING:
    from rich.console import Console

    from krt_cli.kubectl import Kubectl
    from krt_cli.resource import Test

WITH_TRAFFIC: Final = ("Warmup", "Injecting", "Draining")
"""Phases in which producers and consumers run."""

INTERVAL_S: Final = 2.0
"""Seconds between two samples: a few small requests to the API server each."""

RATES_EVERY_S: Final = 15.0
"""Seconds between two lines with rates where there is no terminal."""

ATTEMPTS: Final = 5
"""Samples in a row that fail before nothing more is shown: pods start and end meanwhile."""

MEASURED: Final = (Component.PRODUCER, Component.CONSUMER, Component.RECORDER)
"""Components that have metrics of the traffic."""

NAMES_ONLY: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
"""The media type of a list without specs and states."""


class Live(Background):
    """Follows the traffic in a thread of its own, until the block ends.

    On a terminal, a line at the bottom changes with it. Elsewhere rates are printed at times. What
    cannot be read is not shown, which is reported once: the verdict does not rest on it.

    Args:
        kubectl: bound to the namespace of the test.
        console: where lines go.
    """

    def __init__(self, kubectl: Kubectl, console: Console) -> None:
        super().__init__(console)
        self._kubectl = kubectl
        self._test: Test | None = None
        self._traffic = Traffic()
        self._printed = time.monotonic()

    def show(self, test: Test) -> None:
        """Take note of a new state of the test."""
        self._test = test
        self._refresh()

    def _run(self) -> None:
        while not self._has_traffic():
            if self._ended.wait(INTERVAL_S):
                return
            self._refresh()
        try:
            self._follow()
        except KubectlError as error:
            self._print(f"rates and outages are not shown from here on: {error}")
        while not self._ended.wait(INTERVAL_S):
            self._refresh()

    def _has_traffic(self) -> bool:
        return self._test is not None and self._test.status.get("phase") in WITH_TRAFFIC

    def _follow(self) -> None:
        """Show samples until the traffic ends.

        Raises:
            KubectlError: nothing can be read.
        """
        if self._test is None:
            return
        namespace, _, uid = self._test.identity
        pods = f"/api/v1/namespaces/{namespace}/pods"
        failed = 0
        with api_proxy(self._kubectl, f"^{pods}") as proxy:
            while self._has_traffic() and not self._ended.is_set():
                try:
                    sample = self._sample(proxy, pods, uid)
                except KubectlError:
                    failed += 1
                    if failed == ATTEMPTS:
                        raise
                else:
                    failed = 0
                    self._take(sample)
                self._ended.wait(INTERVAL_S)

    def _sample(self, proxy: ApiProxy, pods: str, uid: str) -> Sample:
        """Return what the pods that answer say.

        Raises:
            KubectlError: none answers.
        """
        selector = f"{LABEL_TEST_UID}={uid},{LABEL_COMPONENT} in ({','.join(MEASURED)})"
        listed = json.loads(proxy.get(f"{pods}?labelSelector={quote(selector)}", NAMES_ONLY))
        pages, problem = [], KubectlError("the test has no pod with metrics")
        for item in listed["items"]:
            try:
                pages.append(proxy.get(f"{pods}/{item['metadata']['name']}:{PORT}/proxy/metrics"))
            except KubectlError as error:
                # One that starts, or that a fault keeps down.
                problem = error
        if not pages:
            raise problem
        try:
            return read_sample(time.monotonic(), pages)
        except ValueError as error:
            raise KubectlError(f"the metrics of a pod cannot be read: {error}") from error

    def _take(self, sample: Sample) -> None:
        if not self._has_traffic():
            # It ended while the pods were asked.
            return
        for line in self._traffic.update(sample):
            self._print(line)
        if self._status:
            self._refresh()
        elif self._traffic.rates and sample.at - self._printed >= RATES_EVERY_S:
            self._printed = sample.at
            self._print(self._traffic.rates)

    def _refresh(self) -> None:
        """Bring the line at the bottom up to date."""
        if self._status is None or self._test is None:
            return
        parts = [describe_now(self._test, datetime.now(UTC))]
        if self._has_traffic():
            outages = self._traffic.outages
            parts += [f"writes unavailable: {outages}"] if outages else []
            parts += [self._traffic.rates] if self._traffic.rates else []
        self._status.update(" | ".join(parts))

    def _print(self, line: str) -> None:
        """Print a line as those of the test's changes are, with the seconds since its creation."""
        if self._test is None:
            return
        text = timed(self._test, datetime.now(UTC).isoformat(), f"  {line}")
        self._console.print(text, markup=False, highlight=False)
