"""Which pods belong to a run, by their owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_operator.engine.ownership import owned_by, pods_of

if TYPE_CHECKING:
    from krt_operator.engine.views import Json

TEST, UID = "t", "uid-t"
Owner = tuple[str, str, str]
SET: Owner = ("StatefulSet", "t-kafka-0", "uid-set")


def owned(uid: str, *owners: Owner) -> Json:
    """An object with owners by kind, name and uid."""
    references = [{"kind": kind, "name": name, "uid": of} for kind, name, of in owners]
    return {"metadata": {"uid": uid, "ownerReferences": references}}


THE_TEST: Owner = ("KafkaResilienceTest", TEST, UID)


def is_of_run(owner: Owner | None, listed: Json | None = None, read: Json | None = None) -> bool:
    """Whether a pod belongs to the run.

    Args:
        owner: its owner.
        listed: the StatefulSet t-kafka-0, where it has the labels of the run.
        read: what is read under the name of the owner.
    """
    pods = {"p": owned("uid-p", *([owner] if owner else []))}
    workloads = {} if listed is None else {("StatefulSet", "t-kafka-0"): listed}
    return "p" in pods_of(pods, TEST, UID, workloads, lambda _kind, _name: read)


def test_owned_by_another_test_or_nobody_is_left_out() -> None:
    objects = {
        "mine": owned("1", THE_TEST),
        "theirs": owned("2", ("KafkaResilienceTest", TEST, "uid-before")),
        "copy": owned("3"),
    }
    assert owned_by(objects, UID).keys() == {"mine"}


@pytest.mark.parametrize(
    "owner",
    [
        THE_TEST,
        SET,
        ("StatefulSet", "t-controller-2", "uid-gone"),
        ("Job", "t-scoring-2", "uid-gone"),
        ("Job", "t-fault-0-1", "uid-gone"),
        ("Job", "t-dump-kafka-2", "uid-gone"),
    ],
)
def test_pod_of_the_run_is_kept_after_its_owner_is_gone(owner: Owner) -> None:
    assert is_of_run(owner)


@pytest.mark.parametrize(
    "owner",
    [
        None,
        ("KafkaResilienceTest", TEST, "uid-before"),
        ("Deployment", "t-kafka-0", "uid-x"),
        ("StatefulSet", "t-kafka-0-copy", "uid-x"),
        ("StatefulSet", "t-kafka-kafka-0", "uid-x"),
        ("StatefulSet", "kafka-0", "uid-x"),
        ("Job", "t-mine-1", "uid-x"),
    ],
)
def test_pod_of_somebody_else_is_left_out(owner: Owner | None) -> None:
    assert not is_of_run(owner)


def test_pod_follows_its_stateful_set() -> None:
    mine, theirs = owned("uid-set", THE_TEST), owned("uid-set")
    assert is_of_run(SET, listed=mine)
    assert not is_of_run(SET, listed=theirs)
    assert is_of_run(SET, read=mine)
    assert not is_of_run(SET, read=theirs)
    # Somebody else's has the name by now: whose the pod's own was, nobody knows any more.
    assert not is_of_run(SET, read=owned("uid-later"))
    assert not is_of_run(SET, listed=owned("uid-later"), read=owned("uid-later"))
    assert not is_of_run(SET, listed=owned("uid-later", THE_TEST))


def test_executor_follows_the_pod_of_its_driver() -> None:
    driver = owned("uid-driver", ("Job", "t-scoring-1", "uid-job"))
    pods = {
        "driver": driver,
        "executor": owned("1", ("Pod", "driver", "uid-driver")),
        "other": owned("2", ("Pod", "else", "uid-else")),
    }
    jobs = {("Job", "t-scoring-1"): owned("uid-job", THE_TEST)}
    assert pods_of(pods, TEST, UID, jobs, lambda *_: None).keys() == {"driver", "executor"}
