"""What becomes of a generated spec: refused by the schema, ended by the controller, or run."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import ValidationError
from tests.unit.operator.disturbed.memoized import memoized
from tests.unit.operator.disturbed.playing import StuckError, play
from tests.unit.operator.disturbed.scenarios import Scenario
from tests.unit.operator.doubles.world import World

from krt_operator.api.partial import problems
from krt_operator.api.spec import Spec

if TYPE_CHECKING:
    from tests.unit.operator.generated.specs import Generated

FIELD = re.compile(r"(spec\.[a-zA-Z]|chart value )")
"""How a message begins that names a field of the resource, or a value of the chart."""

REFUSED, CANNOT_RUN, RUN, ABORTED = "refused by the schema", "cannot run", "run", "aborted"
LONGEST = timedelta(hours=2)


class WrongError(Exception):
    """Neither of what may become of a spec."""


def outcome(generated: Generated) -> str:
    """What became of it.

    Raises:
        WrongError: it was accepted in spite of its mistake, or refused without a field; the run did
            not end, or in a way that no field explains.
    """
    try:
        Spec.model_validate(generated.spec)
    except ValidationError as error:
        message = problems(error)
        if not generated.mistake:
            raise WrongError(f"a right spec is refused: {message}") from error
        if generated.mistake not in message:
            raise WrongError(f"{generated.mistake} is not named: {message}") from error
        return REFUSED
    if generated.mistake:
        raise WrongError(f"accepted in spite of {generated.mistake}")
    return _run(generated)


def _run(generated: Generated) -> str:
    world = World(**generated.spec)
    try:
        with memoized():
            play(Scenario("generated", longest=LONGEST), world)
    except StuckError as stuck:
        raise WrongError(str(stuck)) from stuck
    status = world.status
    if world.errors:
        raise WrongError(f"passes failed: {world.errors[:3]!r}")
    match status["phase"]:
        case "Completed":
            return RUN
        case "Aborted" if generated.spec.get("abort"):
            return ABORTED
        case "Error":
            messages = [each["message"] for each in status["conditions"]]
            if any(FIELD.match(message) for message in messages):
                return CANNOT_RUN
        case _:
            pass
    raise WrongError(f"{status['phase']}: {status.get('summary')}")
