"""`python -m krt_operator run | remove-finalizers`.

run                run the controller.
remove-finalizers  remove the controller's finalizer from every test. Needed when the controller is
                   uninstalled: unfinished tests could not be deleted otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING, Final

from krt_contract.labels import KIND
from krt_operator.app.settings import Settings
from krt_operator.errors import KrtError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable

USAGE_ERROR: Final = 2

RETRIED: Final = ("failed; will retry: ", "failed temporarily: ", "failed temporarily but will ")
"""Words of Kopf's records about what it tries again, or has tried for as long as it may."""


def _lower_retries(record: logging.LogRecord) -> bool:
    """Lower to a warning what Kopf logs as an error and then retries; keep every record.

    An API server answers 429 for a moment after the CRD was installed. A deletion waits for pods,
    and gives a cluster up that does not answer; an event says so on the test.
    """
    text = record.getMessage()
    if record.levelno == logging.ERROR and any(words in text for words in RETRIED):
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="krt_operator",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", default="run", choices=tuple(COMMANDS))
    command = parser.parse_args(arguments).command
    logging.basicConfig(
        level=os.environ.get("KRT_LOG_LEVEL", "INFO"),
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stdout,
    )
    # Kopf logs the success of every handler, which is no news in a level-triggered loop.
    logging.getLogger("kopf").setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_lower_retries)
    # One line per probe, every few seconds.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    try:
        settings = Settings.from_environment()
        return COMMANDS[command](settings)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return USAGE_ERROR
    except KrtError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _run(settings: Settings) -> int:
    import kopf  # noqa: PLC0415 - 40 MiB that `remove-finalizers` does not need

    # Kopf takes it as an argument and does not export it. It knows what is watched.
    from kopf._cogs.structs.references import Insights  # noqa: PLC0415 - as above

    from krt_operator.app import handlers, readiness  # noqa: PLC0415 - registers the handlers

    watched = settings.watch_namespaces

    async def run() -> None:
        insights = Insights()

        def obstacle() -> str:
            return handlers.obstacle(has_watches=bool(insights.watched_resources))

        port = int(os.environ.get("KRT_READY_PORT", "8081"))
        health = os.environ.get("KRT_HEALTH_PORT", "8080")
        async with readiness.serving(port, obstacle):
            await kopf.operator(
                standalone=True,
                clusterwide=not watched,
                namespaces=list(watched),
                liveness_endpoint=f"http://0.0.0.0:{health}/healthz",
                insights=insights,
            )

    asyncio.run(run())
    return 0


def _remove_finalizers(settings: Settings) -> int:
    from krt_operator.app.assembly import Assembly  # noqa: PLC0415 - as above

    assembly = Assembly.on_api_server(settings)
    remaining: dict[str, str] = {}
    for namespace in settings.watch_namespaces or ("",):
        try:
            tests = assembly.cluster(namespace).list(KIND)
        except KrtError as error:
            remaining[namespace or "all namespaces"] = f"not listed: {error}"
            continue
        for test in tests:
            meta = test["metadata"]
            name = f"{meta['namespace']}/{meta['name']}"
            try:
                if assembly.cluster(meta["namespace"]).remove_finalizers(meta["name"]):
                    sys.stdout.write(f"removed the finalizer of {name}\n")
            except KrtError as error:
                remaining[name] = str(error)
    for name, cause in remaining.items():
        sys.stderr.write(f"finalizers remain: {name}: {cause}\n")
    if remaining:
        sys.stderr.write(
            "run this command again, or remove them with: kubectl patch krt NAME -n NAMESPACE "
            '--type=merge -p \'{"metadata":{"finalizers":null}}\'\n'
        )
    return 1 if remaining else 0


COMMANDS: Final[dict[str, Callable[[Settings], int]]] = {
    "run": _run,
    "remove-finalizers": _remove_finalizers,
}


if __name__ == "__main__":
    sys.exit(main())
