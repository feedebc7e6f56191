"""What Kopf calls: thin. One daemon a test, one pass after another; no other handler.

Daemons keep no state in the resource, are started anew for every unfinished test when the
controller starts, and end with the run, which is when Kopf frees its finalizer: a finished test can
be deleted with no controller there.
"""

from __future__ import annotations

import asyncio
import logging
import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import kopf

from krt_contract.labels import GROUP, PLURAL, VERSION
from krt_operator.api.status import Phase
from krt_operator.app.assembly import Assembly
from krt_operator.app.settings import Settings
from krt_operator.errors import KrtError, TransientError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOG = logging.getLogger("krt")

FIRST_RETRY: Final = 1.0
LAST_RETRY: Final = 15.0
"""Seconds between passes after failures: doubled from first to last, with jitter, so that tests do
not ask an API server that is coming back all at once."""

REQUEST_TIMEOUT: Final = 30.0
"""Seconds for Kopf's own calls; its default of 300 hides a dead API server for too long."""

WATCH_SERVER_TIMEOUT: Final = 300
WATCH_CLIENT_TIMEOUT: Final = 310
WATCH_CONNECT_TIMEOUT: Final = 30
"""Seconds a watch may last: streams have been seen to fall silent without closing."""

EXIT_TIMEOUT: Final = 20.0
"""Seconds until a controller told to stop does; a pass in flight ends well before."""

PASS_LENGTH: Final = 15.0
"""Seconds a pass may last at worst: a few API and admin calls, each bounded."""

SWEEP: Final = 15.0
"""Seconds between looks for tests whose ttlSecondsAfterFinished has gone by."""

_memory: dict[str, Any] = {}


def under_way(status: Mapping[str, Any], **_: Any) -> bool:
    """Whether a test still needs a daemon."""
    phase = status.get("phase")
    return phase is None or not Phase(phase).terminal


@kopf.on.login()
def login(logger: kopf.Logger, settings: kopf.OperatorSettings, **_: Any) -> Any:
    """Kopf's own credentials, independent of the kubernetes client's version."""
    return kopf.login_with_service_account(
        logger=logger, settings=settings
    ) or kopf.login_with_kubeconfig(logger=logger, settings=settings)


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Set what Kopf may do, and assemble the controller."""
    settings.persistence.finalizer = f"{GROUP}/finalizer"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(
        prefix=GROUP, key="last-handled-configuration"
    )
    settings.peering.standalone = True
    # Only for resources that come and go; it would take a right to list every CRD.
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.watching.server_timeout = WATCH_SERVER_TIMEOUT
    settings.watching.client_timeout = WATCH_CLIENT_TIMEOUT
    settings.watching.connect_timeout = WATCH_CONNECT_TIMEOUT
    settings.networking.request_timeout = REQUEST_TIMEOUT
    settings.process.ultimate_exiting_timeout = EXIT_TIMEOUT
    ours = Settings.from_environment()
    assembly = Assembly.on_api_server(ours)
    _memory["assembly"] = assembly
    # Threads are held for a pass, not for a test: waiting tests cost none.
    _memory["pool"] = ThreadPoolExecutor(ours.max_concurrent_tests + 2, thread_name_prefix="pass")
    _memory["sweeper"] = asyncio.create_task(_sweep(assembly))
    if ours.metrics_port:
        assembly.metrics.serve(ours.metrics_port)
    _LOG.info("watching %s", ", ".join(ours.watch_namespaces) or "all namespaces")


async def _sweep(assembly: Assembly) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            await loop.run_in_executor(_memory["pool"], assembly.sweep)
        except KrtError as error:
            _LOG.warning("looking for expired tests: %s", error)
        await asyncio.sleep(SWEEP)


@kopf.on.cleanup()
async def stop(**_: Any) -> None:
    """Let the passes in flight end."""
    _memory["sweeper"].cancel()
    pool: ThreadPoolExecutor = _memory["pool"]
    await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)


@kopf.on.probe(id="api-server")
def api_server_answers(**_: Any) -> str:
    """Liveness: a controller that cannot reach the API server is restarted."""
    return _assembly().check()


@kopf.daemon(
    GROUP,
    VERSION,
    PLURAL,
    when=under_way,
    # Told to stop, it ends after the pass in flight; cancelled at once, it would leave that pass
    # running with nobody to hear of its failure.
    cancellation_backoff=PASS_LENGTH,
    cancellation_timeout=5.0,
)
async def follow(namespace: str | None, name: str, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """Take one test further until it is over or gone."""
    assembly, failures = _assembly(), 0
    reconciler = assembly.reconciler(namespace or "default")
    loop = asyncio.get_running_loop()
    delay: float | None = 0.0
    _LOG.info("%s/%s: followed from here on", namespace, name)
    while delay is not None and not stopped:
        try:
            delay = await loop.run_in_executor(_memory["pool"], reconciler.run_once, name)
            failures = 0
        except TransientError as error:
            failures += 1
            assembly.metrics.failed(error)
            delay = _backoff(failures)
            _LOG.warning("%s/%s: %s; again in %.0f s", namespace, name, error, delay)
        except Exception as error:  # noqa: BLE001 - a defect must not end the test: a mended release goes on
            failures += 1
            assembly.metrics.failed(error)
            delay = _backoff(failures)
            _LOG.exception("%s/%s: again in %.0f s", namespace, name, delay)
        if delay is not None:
            await stopped.wait(delay)


def _backoff(failures: int) -> float:
    longest = min(LAST_RETRY, FIRST_RETRY * 2.0 ** min(failures - 1, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret


def _assembly() -> Assembly:
    found = _memory["assembly"]
    if not isinstance(found, Assembly):
        raise TypeError("the controller has not been assembled")
    return found
