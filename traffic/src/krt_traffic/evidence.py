"""Where this pod's evidence goes: the volume it mounts, or the object store of its environment."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from krt_contract.errors import ContractError
from krt_contract.sinks.folder import FolderSink
from krt_contract.stores.settings import ObjectStoreSettings
from krt_contract.timeline import EVIDENCE
from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_contract.plan import Plan
    from krt_contract.sinks.sink import Sink
    from krt_contract.stores.store import Store
    from krt_traffic.environment import Environment


def open_sink(environment: Environment, plan: Plan, report: Callable[[int, int], None]) -> Sink:
    """Return the run's bundle, to be written.

    Args:
        environment: of this pod.
        plan: the run.
        report: called with start and end (UTC microseconds) of each time that an object store was
            unavailable.

    Raises:
        UnusableError: the settings of the object store cannot be used.
    """
    store = open_store(os.environ)
    if store is None:
        return FolderSink(environment.evidence / plan.bundle)
    from krt_contract.sinks.store import StoreSink  # noqa: PLC0415 - see open_store

    return StoreSink(store, plan.bundle, report)


def open_store(variables: Mapping[str, str]) -> Store | None:
    """Return the object store of an environment; None where evidence goes into a folder.

    Raises:
        UnusableError: its settings cannot be used.
    """
    try:
        settings = ObjectStoreSettings.read(variables)
    except ContractError as error:
        raise UnusableError(str(error), field="spec.evidence.objectStore") from error
    if settings is None:
        return None
    # The recorder must not pay for Arrow where it writes into a folder.
    from krt_contract.stores.objects import ObjectStore  # noqa: PLC0415 - see above

    return ObjectStore(settings)


def require_store(variables: Mapping[str, str]) -> Store:
    """Return the object store of an environment.

    Raises:
        UnusableError: it names none, or its settings cannot be used.
    """
    store = open_store(variables)
    if store is None:
        raise UnusableError("no object store is named; whoever made the pod names it")
    return store


def report_in_log(member: str) -> Callable[[int, int], None]:
    """Return what tells the recorder, by the pod's log, that the store was unavailable.

    Args:
        member: identity in evidence of this pod.
    """

    def report(start: int, end: int) -> None:
        line = {"krt": EVIDENCE, "member": member, "from": start, "to": end}
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stdout.flush()

    return report
