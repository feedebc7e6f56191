"""`python -m krt_operator run | release`.

run      the controller.
release  takes the controller's finalizer off every test, for when the controller is being removed:
         nobody else would, and a test that was under way could never be deleted.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys

from krt_operator.app.settings import Settings
from krt_operator.errors import KrtError, UserError

USAGE_ERROR = 2


def _retries_are_no_errors(record: logging.LogRecord) -> bool:
    """Lower what Kopf logs as an error and then mends by itself; keep every record.

    An API server that has just been given the CRD answers 429 for a moment.
    """
    if record.levelno == logging.ERROR and "failed; will retry: " in record.getMessage():
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="krt_operator", description=__doc__)
    parser.add_argument("command", nargs="?", default="run", choices=("run", "release"))
    command = parser.parse_args(arguments).command
    logging.basicConfig(
        level=os.environ.get("KRT_LOG_LEVEL", "INFO"),
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stdout,
    )
    # Kopf tells every handler's success; a level-triggered loop has no news in that.
    logging.getLogger("kopf").setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_retries_are_no_errors)
    # One line a probe, every few seconds.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    try:
        settings = Settings.from_environment()
        return _release(settings) if command == "release" else _run(settings)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return USAGE_ERROR
    except KrtError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _run(settings: Settings) -> int:
    import kopf  # noqa: PLC0415 - 40 MiB that `release` does not need

    import krt_operator.app.handlers  # noqa: F401, PLC0415 - registers the handlers

    watched = settings.watch_namespaces
    asyncio.run(
        kopf.operator(
            standalone=True,
            clusterwide=not watched,
            namespaces=list(watched),
            liveness_endpoint=f"http://0.0.0.0:{os.environ.get('KRT_HEALTH_PORT', '8080')}/healthz",
        )
    )
    return 0


def _release(settings: Settings) -> int:
    from krt_operator.app.assembly import Assembly  # noqa: PLC0415 - as above

    assembly = Assembly.on_api_server(settings)
    for test in assembly.cluster("").tests():
        meta = test["metadata"]
        if assembly.cluster(meta["namespace"]).remove_finalizers(meta["name"]):
            sys.stdout.write(f"released {meta['namespace']}/{meta['name']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
