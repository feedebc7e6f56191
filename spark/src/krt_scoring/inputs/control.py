"""How far the run is, by its control ConfigMap.

The driver starts while the consumers still drain, so that its executors are there when the evidence
is complete. It asks the API server, because a mounted ConfigMap takes up to a minute to change, and
asks again and again, because a watch whose connection dies in silence never ends.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import httpx2
import tenacity
from lightkube.core.client import Client
from lightkube.core.exceptions import ConfigError
from lightkube.resources.core_v1 import ConfigMap

from krt_contract.control import STATE_KEY, ControlState
from krt_scoring.engine import api_retries
from krt_scoring.errors import ControlError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

log = logging.getLogger(__name__)

PAUSE = 0.5
"""Seconds between two requests; a run waits half of that for its driver."""

NOT_FOUND = 404


def wait_for(
    states: Collection[ControlState],
    namespace: str,
    name: str,
    connect: Callable[[], Client] = Client,
) -> dict[str, str]:
    """Return the ConfigMap's data once it has one of some states.

    An API server that is unavailable is waited for: the Job's own deadline ends it.

    Args:
        states: of the control.
        namespace: of the run.
        name: of the ConfigMap.
        connect: makes the client.

    Raises:
        ControlError: the run was aborted or deleted, or the ConfigMap may not be read.
    """
    client = connect()
    asking = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda data: data.get(STATE_KEY) not in states),
        wait=tenacity.wait_fixed(PAUSE),
    )
    return asking(_read, client, namespace, name)


def _read(client: Client, namespace: str, name: str) -> dict[str, str]:
    try:
        found = api_retries.retrying(log)(client.get, ConfigMap, name, namespace=namespace)
    except httpx2.HTTPStatusError as error:
        if error.response.status_code == NOT_FOUND:
            raise ControlError(f"ConfigMap {name} is gone: the test was deleted") from error
        raise ControlError(
            f"ConfigMap {name} cannot be read ({error}): grant the driver's service account get on "
            "configmaps, as the chart's role krt-driver does"
        ) from error
    except ConfigError as error:
        raise ControlError(f"ConfigMap {name} cannot be read: {error}") from error
    data = found.data or {}
    if data.get(STATE_KEY) == ControlState.ABORT:
        raise ControlError("the run was aborted: there is nothing to score")
    return data
