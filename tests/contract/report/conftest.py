"""Reports, opened in a real browser without a window."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

from krt_contract.plan import Plan
from krt_scoring.inputs import timeline
from krt_scoring.outputs import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

SAMPLE = Path(__file__).parents[3] / "cli/src/krt_cli/sample/leader-crash.tar.gz"
SCORED = Path(__file__).parent / "leader-crash"
"""Scorecard and series of the sample, as ``krt score --sample`` wrote them."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

WIDE, PHONE = 1400, 390

PATIENCE_MS = 120_000


@dataclass
class Opened:
    """A page and what went wrong while it was open.

    Attributes:
        problems: errors and warnings on its console, exceptions, requests for anything else.
    """

    page: Page
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sample:
    """The recorded run of ``krt score --sample``, scored."""

    card: dict[str, Any]
    series: dict[str, Any]
    events: timeline.Timeline
    run: Plan

    def render(self, **changes: Any) -> str:
        """Return its report, with some keys of the scorecard changed."""
        return report.render(self.card | changes, self.events, self.series, self.run)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        pytest.fail("there is no Chromium or Chrome: install it, on Debian with hack/dev-tools")
    with sync_playwright() as tools:
        started = tools.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    root = tmp_path_factory.mktemp("sample")
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(root, filter="data")
    bundle = root / "leader-crash"
    return Sample(
        json.loads((SCORED / "scorecard.json").read_text()),
        json.loads((SCORED / "series.json").read_text()),
        timeline.read(bundle / "timeline"),
        Plan.from_json((bundle / "run.json").read_text()),
    )


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open a report: ``visit(html, width=390, scheme="dark", scripts=False)``."""
    contexts = []

    def opened(
        html: str, *, width: int = WIDE, scheme: Any = "light", scripts: bool = True
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        contexts.append(context)
        # A busy machine draws slowly; what does not happen at all still ends.
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        found = Opened(page)
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        page.on("console", lambda message: found.problems.append(message.text))
        page.on("pageerror", lambda error: found.problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "data:"))
                else found.problems.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        if scripts and "vegaEmbed" in html:
            page.wait_for_function("document.documentElement.dataset.drawn")
        return found

    yield opened
    for context in contexts:
        context.close()
