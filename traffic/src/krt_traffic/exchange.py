"""``python -m krt_traffic.exchange OWN OTHER``: shows that what one node stores, another reads.

The preflight of an object store: two pods on different nodes each put an object and wait for that
of the other pod. What `preflight.sh` does with a claim.

Exit codes as of `preflight.sh`: 0 exchanged, 6 the store refuses or does not answer. The
termination message is shown in a condition. The wait for the other pod's object has no limit: only
the controller sees whether the other pod runs, and since when.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from krt_contract.stores.store import StoreError
from krt_traffic.environment import TERMINATION_LOG
from krt_traffic.errors import UnusableError
from krt_traffic.evidence import require_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_contract.stores.store import Store

Result = TypeVar("Result")

REFUSED: Final = 6
"""Exit code where the store refuses, or does not answer for `PATIENCE_SECONDS`."""

PATIENCE_SECONDS: Final = 20.0
"""How long a store that fails is asked again: it may be starting."""

PAUSE_SECONDS: Final = 0.2
"""Between two looks."""

FOLDER: Final = ".preflight"
"""Folder of the bucket that the objects of all preflights go below."""


def exchange(store: Store, uid: str, pod: str, own: str, other: str) -> None:
    """Put an object, wait for the other one, and delete that.

    Args:
        store: where.
        uid: of the test.
        pod: content of the object.
        own: name of this pod's object.
        other: name of the other pod's.

    Raises:
        StoreError: the store refuses or does not answer.
    """
    folder = f"{FOLDER}/{uid}"
    # A container that is started again finds its own object.
    _patiently(lambda: store.replace(f"{folder}/{own}", pod.encode()))
    while not _patiently(lambda: _is_there(store, f"{folder}/{other}")):
        time.sleep(PAUSE_SECONDS)
    _patiently(lambda: store.delete(f"{folder}/{other}"))


def _patiently(request: Callable[[], Result]) -> Result:
    """The result of a request, which is repeated for a while where the store fails."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return request()
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(PAUSE_SECONDS)


def _is_there(store: Store, key: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return bool(store.read(key))
    return False


def main(arguments: list[str] | None = None) -> int:
    """Exchange objects and return the exit code."""
    parser = argparse.ArgumentParser(prog="krt_traffic.exchange", description=__doc__)
    parser.add_argument("own")
    parser.add_argument("other")
    options = parser.parse_args(arguments)
    try:
        uid, pod = os.environ["KRT_TEST_UID"], os.environ["KRT_POD"]
        exchange(require_store(os.environ), uid, pod, options.own, options.other)
    except (StoreError, UnusableError) as error:
        return _report(str(error), REFUSED)
    return _report("exchanged", 0)


def _report(text: str, code: int) -> int:
    sys.stderr.write(f"{text}\n")
    path = Path(os.environ.get("KRT_TERMINATION_LOG") or TERMINATION_LOG)
    with contextlib.suppress(OSError):  # the log has it, too
        path.write_text(text, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
