"""``python -m krt_traffic producer|consumer|recorder|replicas|preflight``: one pod of a run."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

from krt_contract.exits import TrafficExit
from krt_traffic import termination
from krt_traffic.environment import TERMINATION_LOG, Environment
from krt_traffic.errors import UnusableError
from krt_traffic.garbage import spare_traffic
from krt_traffic.plan import load

ROLES = ("producer", "consumer", "recorder", "replicas", "preflight")

GROUP_WRITABLE = 0o002
"""Files of a bundle belong to group 0, whatever uid the cluster gives each pod."""


def main(arguments: list[str] | None = None) -> int:
    """Run one role and return the exit status (``krt_contract.exits``)."""
    parser = argparse.ArgumentParser(prog="krt_traffic", description=__doc__)
    parser.add_argument("role", choices=ROLES)
    role = parser.parse_args(arguments).role
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    os.umask(GROUP_WRITABLE)
    try:
        return _run(role)
    except UnusableError as error:
        logging.getLogger(__name__).error("%s", error)  # noqa: TRY400 - the message says it all
        _report(role, error)
        return TrafficExit.UNUSABLE


def _report(role: str, error: UnusableError) -> None:
    """Tell the controller why this pod cannot start, which may be why there is no environment."""
    text = termination.message(role, {}, reason="unusable", error=str(error), field=error.field)
    path = Path(os.environ.get("KRT_TERMINATION_LOG") or TERMINATION_LOG)
    with contextlib.suppress(OSError):  # the log has it, too
        termination.write(path, text)


def _run(role: str) -> int:
    environment = Environment.read(os.environ)
    plan = load(environment.plan)
    if role == "replicas":
        from krt_traffic.replicas.run import run  # noqa: PLC0415 - see below

        # It has no service account and takes no instructions: it ends when the dump does.
        return run(environment, plan)
    if role == "preflight":
        from krt_traffic.preflight import run as check  # noqa: PLC0415 - see below

        return check(environment, plan)
    # Each role is imported by itself: the recorder must not pay for Arrow, the reader of a dump not
    # for the Kubernetes client.
    from krt_traffic.control import Control, follow  # noqa: PLC0415 - see above
    from krt_traffic.kubernetes.client import KubernetesClient  # noqa: PLC0415 - see above
    from krt_traffic.metrics.server import serve  # noqa: PLC0415 - see above

    client = KubernetesClient.from_environment(environment.namespace)
    control = Control()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: control.terminate())
    if role == "producer":
        from krt_traffic.producer.run import ProducerRun  # noqa: PLC0415 - see above

        follow(client, environment.control, control)
        producer = ProducerRun(environment, plan, control)
        serve(environment.metrics_port, *producer.metrics)
        spare_traffic()
        return producer.run()
    if role == "consumer":
        from krt_traffic.consumer.run import ConsumerRun  # noqa: PLC0415 - see above

        follow(client, environment.control, control)
        consumer = ConsumerRun(environment, plan, control)
        serve(environment.metrics_port, *consumer.metrics)
        spare_traffic()
        return consumer.run()
    from krt_traffic.recorder.run import run as record  # noqa: PLC0415 - see above

    return record(client, environment, plan, control)


if __name__ == "__main__":
    sys.exit(main())
