"""The Kopf handlers: one daemon per test makes one pass after another.

Daemons keep no state in the resource. They start for every unfinished test when the controller
starts, and end with the run. Kopf then removes its finalizer, so a finished test can be deleted
while no controller runs.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import kopf

from krt_contract.labels import GROUP, PLURAL, VERSION
from krt_operator.api.status import is_terminal
from krt_operator.app.assembly import Assembly
from krt_operator.app.passes import Passes
from krt_operator.app.retry import retrying
from krt_operator.app.settings import Settings
from krt_operator.errors import KrtError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOG = logging.getLogger("krt")

REQUEST_TIMEOUT: Final = 30.0
"""Seconds for Kopf's own calls; its default of 300 hides an unavailable API server for too long."""

WATCH_SERVER_TIMEOUT: Final = 300
WATCH_CLIENT_TIMEOUT: Final = 310
WATCH_CONNECT_TIMEOUT: Final = 30
"""Seconds a watch may last: streams may stop delivering without being closed."""

EXIT_TIMEOUT: Final = 20.0
"""Seconds until a controller that is stopped exits; a pass in flight ends well before."""

PASS_LENGTH: Final = 15.0
"""Seconds that a pass takes at most: a few API and admin calls, each with a timeout."""

RELEASE_PAUSE: Final = 2.0
"""Seconds between tries to delete what a deleted test has on somebody else's cluster."""

RELEASE_TIMEOUT: Final = 120.0
"""Seconds after which a test is deleted although that cluster does not answer: its namespace may be
waiting for it. An event and the log name what stays."""

SWEEP: Final = 15.0
"""Seconds between checks for tests whose ttlSecondsAfterFinished has passed."""

_memory: dict[str, Any] = {}


def unfinished(status: Mapping[str, Any], **_: Any) -> bool:
    """Whether a test still needs a daemon."""
    return not is_terminal(status.get("phase"))


@kopf.on.login()
def login(logger: kopf.Logger, settings: kopf.OperatorSettings, **_: Any) -> Any:
    """Log in with Kopf's own code, which does not depend on the kubernetes client's version."""
    return kopf.login_with_service_account(
        logger=logger, settings=settings
    ) or kopf.login_with_kubeconfig(logger=logger, settings=settings)


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Configure Kopf and assemble the controller."""
    settings.persistence.finalizer = f"{GROUP}/finalizer"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(
        prefix=GROUP, key="last-handled-configuration"
    )
    settings.peering.standalone = True
    # Scanning is for CRDs that come and go, and needs the right to list all of them.
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.watching.server_timeout = WATCH_SERVER_TIMEOUT
    settings.watching.client_timeout = WATCH_CLIENT_TIMEOUT
    settings.watching.connect_timeout = WATCH_CONNECT_TIMEOUT
    settings.networking.request_timeout = REQUEST_TIMEOUT
    settings.process.ultimate_exiting_timeout = EXIT_TIMEOUT
    installation = Settings.from_environment()
    assembly = Assembly.on_api_server(installation)
    _memory["assembly"] = assembly
    # A thread is used for a pass, not for a test, so waiting tests need none.
    _memory["passes"] = Passes(installation.max_concurrent_tests + 2)
    _memory["sweeper"] = asyncio.create_task(_sweep(assembly))
    if installation.metrics_port:
        assembly.metrics.serve(installation.metrics_port)
    _LOG.info("watching %s", ", ".join(installation.watch_namespaces) or "all namespaces")


async def _sweep(assembly: Assembly) -> None:
    sweeper = assembly.sweeper()
    while True:
        try:
            _memory["listed"] = await _passes().run("expiry of tests", sweeper.sweep)
        except Exception as error:  # noqa: BLE001 - logged, with its traceback
            # Without this task no finished test would be deleted until the next restart.
            assembly.metrics.expiry_failed(error)
            _LOG.exception("deletion of expired tests")
        await asyncio.sleep(SWEEP)


def obstacle(*, has_watches: bool) -> str:
    """Why the controller does not watch the tests; empty if it does.

    Args:
        has_watches: whether Kopf found the resource and watches it.
    """
    if not has_watches:
        return f"{PLURAL}.{GROUP} is not watched: the CRD was not installed at the start; restart"
    if not _memory.get("listed"):
        return f"{PLURAL}.{GROUP} cannot be listed: the log says why"
    return ""


@kopf.on.cleanup()
async def stop(**_: Any) -> None:
    """Wait for the passes in flight."""
    _memory["sweeper"].cancel()
    await _passes().end()


@kopf.on.probe(id="api-server")
def api_server_answers(**_: Any) -> str:
    """Liveness: a controller that cannot reach the API server is restarted."""
    return _assembly().check()


@kopf.on.probe(id="passes")
def passes_end(**_: Any) -> str:
    """Liveness: a controller with a pass that does not end is restarted.

    Raises:
        kopf.PermanentError: with what is stuck.
    """
    stuck = _passes().stuck()
    if stuck:
        _LOG.error("stuck: %s; the liveness probe fails until the controller is restarted", stuck)
        raise kopf.PermanentError(f"stuck: {stuck}")
    return "ok"


@kopf.daemon(
    GROUP,
    VERSION,
    PLURAL,
    when=unfinished,
    # A stopped daemon ends after the pass in flight. If it were cancelled at once, the pass would
    # go on and its failure would not be reported.
    cancellation_backoff=PASS_LENGTH,
    cancellation_timeout=5.0,
)
async def follow(namespace: str | None, name: str, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """Reconcile one test until it is finished or deleted."""
    assembly = _assembly()
    reconciler = assembly.reconciler(namespace or "default")
    test = f"{namespace}/{name}"
    retry = retrying(test, assembly.metrics, stopped=lambda: bool(stopped), sleep=stopped.wait)
    _LOG.info("%s: reconciled from now on", test)
    one_pass = partial(reconciler.run_once, name)
    delay: float | None = 0.0
    while delay is not None and not stopped:
        delay = await retry(_passes().run, test, one_pass)
        if delay is not None:
            await stopped.wait(delay)
    # Kopf stops the daemon once the test is finished; its last events may not be created yet.
    await asyncio.to_thread(reconciler.flush_events)


def has_kafka_objects(status: Mapping[str, Any], **_: Any) -> bool:
    """Whether a test has topics or groups on a cluster that somebody else runs."""
    return bool(status.get("kafkaObjects"))


@kopf.on.delete(
    GROUP,
    VERSION,
    PLURAL,
    when=has_kafka_objects,
    timeout=RELEASE_TIMEOUT,
    backoff=RELEASE_PAUSE,
)
async def release(namespace: str | None, name: str, **_: Any) -> None:
    """Delete what a deleted test has on a cluster that somebody else runs."""
    release_objects = partial(_assembly().release, namespace or "default", name)
    try:
        waits_for = await _passes().run(f"deletion of {namespace}/{name}", release_objects)
    except KrtError as error:  # which Kopf would log with its traceback
        waits_for = str(error)
    if waits_for:
        raise kopf.TemporaryError(waits_for, delay=RELEASE_PAUSE)


def _passes() -> Passes:
    found = _memory["passes"]
    if not isinstance(found, Passes):
        raise TypeError("the controller has not been started")
    return found


def _assembly() -> Assembly:
    found = _memory["assembly"]
    if not isinstance(found, Assembly):
        raise TypeError("the controller has not been assembled")
    return found
