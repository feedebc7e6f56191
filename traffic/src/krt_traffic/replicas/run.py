"""The reading end of the pipe that a broker's dump comes through."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING

from krt_contract.exits import TrafficExit
from krt_traffic import termination
from krt_traffic.clock import wall
from krt_traffic.evidence import open_sink, report_in_log
from krt_traffic.replicas.reader import Reader
from krt_traffic.replicas.table import Tables

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_traffic.environment import Environment

log = logging.getLogger(__name__)


def run(environment: Environment, plan: Plan) -> int:
    """Make the pipe, read it to its end into the evidence, and return the exit status.

    A part of a replica that could not be dumped is a problem in ``replica_bounds``, and no failure
    of this pod; that the dump broke off is.
    """
    sink = open_sink(environment, plan, report_in_log(environment.member))
    tables = Tables(sink, environment.member, environment.replica)
    reader = Reader(tables, wall)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(environment.pipe)
    # A payload that is not text must not end the reading of all others.
    with environment.pipe.open(encoding="utf-8", errors="replace", newline="\n") as dump:
        for line in dump:
            reader.take(line.removesuffix("\n"))
    reader.close()
    problems = list(reader.problems)
    if not reader.done:
        problems.append("the dump broke off; the log of the container dump says why")
    for problem in problems:
        log.warning("%s", problem)
    counts = {"replicas": reader.replicas, "rows": reader.rows, "problems": len(problems)}
    text = termination.message(
        "replicas", counts, reason="dumped", error="; ".join(problems) or None
    )
    termination.write(environment.termination_log, text)
    return TrafficExit.DONE if reader.done else TrafficExit.UNUSABLE
