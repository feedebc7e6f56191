"""Transactions of a run: how they ended, what was in them, and whether transforms were one to one.

Counted by Arrow from the ledgers' columns, where the run has transactions; memory grows by a few
numbers for each transaction, and for each record that a transform made.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from krt_contract.outcomes import DeliveryOutcome, TransactionOutcome
from krt_scoring.inputs.ledger_columns import read_batches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.plan import Plan
    from krt_scoring.inputs.ledger_columns import Files

NAMES = {
    TransactionOutcome.COMMITTED: "committed",
    TransactionOutcome.ABORTED: "aborted",
    TransactionOutcome.UNKNOWN: "undecided",
}
"""Outcome in the ledger → its name in the scorecard."""


@dataclass(frozen=True, slots=True)
class Transform:
    """What a group made of the records it was given, of committed transactions alone.

    Attributes:
        inputs: deliveries whose transaction was committed.
        outputs: records sent in committed transactions.
        without_output: inputs that name no output of a transaction that may have been committed.
        without_input: outputs that no input names, nor a delivery that is undecided.
        shared: inputs that name an output which another input names as well.
        undecided: deliveries of transactions whose end no member saw.
    """

    group: str
    inputs: int
    outputs: int
    without_output: int
    without_input: int
    shared: int
    undecided: int

    @property
    def one_to_one(self) -> bool:
        """Whether each committed input has one output of its own, and each output an input."""
        return not (self.without_output or self.without_input or self.shared)

    def as_dict(self) -> dict[str, Any]:
        """Return it as the scorecard holds it."""
        return {
            "group": self.group,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "inputsWithoutOutput": self.without_output,
            "outputsWithoutInput": self.without_input,
            "inputsWithSharedOutput": self.shared,
            "undecided": self.undecided,
            "oneToOne": self.one_to_one,
        }


@dataclass(frozen=True, slots=True)
class Transactions:
    """The transactions of a run.

    Attributes:
        ended: ``committed``, ``aborted``, ``undecided`` → (transactions, records sent in them).
        transforms: one for each group that makes records of records, by name.
    """

    ended: Mapping[str, tuple[int, int]]
    transforms: tuple[Transform, ...]

    def records(self, name: str) -> int:
        """Return the records sent in transactions that ended in this way."""
        return self.ended[name][1]

    def as_dict(self) -> dict[str, Any]:
        """Return the section of the scorecard."""
        ended = {
            name: {"transactions": count, "records": records}
            for name, (count, records) in self.ended.items()
        }
        return {**ended, "transforms": [item.as_dict() for item in self.transforms]}


@dataclass(slots=True)
class _Records:
    """Numbers of a transform's outputs, by incarnation: named by inputs, and sent.

    A killed member leaves its last transaction undecided in one ledger or in both.
    """

    named: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    named_undecided: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    sent: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    sent_undecided: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    nameless: int = 0
    undecided: int = 0


def count_transactions(run: Plan, files: Files) -> Transactions | None:
    """Return the transactions of a run; None where no producer of it has any.

    Args:
        run: the plan.
        files: table of the bundle → its usable files.
    """
    if not run.transactional:
        return None
    transforms = {item.group: _Records() for item in run.consumers if item.output is not None}
    group_of = {
        identity: item.group
        for item in run.consumers
        if item.output is not None
        for identity in item.output.identities
    }
    ended = _sends(files, transforms, group_of)
    _deliveries(files, transforms)
    return Transactions(
        ended, tuple(_transform(group, transforms[group]) for group in sorted(transforms))
    )


def _sends(
    files: Files, transforms: Mapping[str, _Records], group_of: Mapping[str, str]
) -> dict[str, tuple[int, int]]:
    seen: dict[str, set[tuple[str, int]]] = {name: set() for name in NAMES.values()}
    records = dict.fromkeys(NAMES.values(), 0)
    columns = ("producer", "producer_incarnation", "seq", "transaction", "transaction_outcome")
    for batch in read_batches(files, "produce", *columns):
        rows = pa.table(batch).filter(pc.field("transaction").is_valid())
        keys = ("producer_incarnation", "transaction", "transaction_outcome")
        for row in rows.group_by(list(keys)).aggregate([([], "count_all")]).to_pylist():
            name = NAMES[TransactionOutcome(row["transaction_outcome"])]
            seen[name].add((row["producer_incarnation"], row["transaction"]))
            records[name] += row["count_all"]
        for producer in pc.unique(rows["producer"]).to_pylist():
            if producer not in group_of:
                continue
            found, own = (
                transforms[group_of[producer]],
                rows.filter(pc.field("producer") == producer),
            )
            for outcome, numbers in (
                (TransactionOutcome.COMMITTED, found.sent),
                (TransactionOutcome.UNKNOWN, found.sent_undecided),
            ):
                chosen = own.filter(pc.field("transaction_outcome") == outcome)
                _append(numbers, chosen, "producer_incarnation", "seq")
    return {name: (len(seen[name]), records[name]) for name in seen}


def _deliveries(files: Files, transforms: Mapping[str, _Records]) -> None:
    if not transforms:
        return
    for batch in read_batches(files, "consume", "group", "incarnation", "outcome", "output_seq"):
        rows = pa.table(batch)
        for group in pc.unique(rows["group"]).to_pylist():
            if group not in transforms:
                continue
            found, own = transforms[group], rows.filter(pc.field("group") == group)
            done = own.filter(pc.field("outcome") == DeliveryOutcome.OK)
            undecided = own.filter(pc.field("outcome") == DeliveryOutcome.UNKNOWN)
            found.undecided += undecided.num_rows
            named = done.filter(pc.field("output_seq").is_valid())
            found.nameless += done.num_rows - named.num_rows
            _append(found.named, named, "incarnation", "output_seq")
            named = undecided.filter(pc.field("output_seq").is_valid())
            _append(found.named_undecided, named, "incarnation", "output_seq")


def _append(numbers: dict[str, list[Any]], rows: Any, incarnation: str, number: str) -> None:
    for uid in pc.unique(rows[incarnation]).to_pylist():
        own = rows.filter(pc.field(incarnation) == uid)
        numbers[uid] += own[number].chunks


def _transform(group: str, found: _Records) -> Transform:
    inputs = outputs = without_output = without_input = shared = 0
    for uid in sorted({*found.named, *found.sent}):
        named, sent = _numbers(found.named, uid), _numbers(found.sent, uid)
        may_name = _numbers(found.named_undecided, uid, named)
        may_be_sent = _numbers(found.sent_undecided, uid, sent)
        inputs, outputs = inputs + len(named), outputs + len(sent)
        without_output += len(named) - _true(pc.is_in(named, may_be_sent))
        without_input += len(sent) - _true(pc.is_in(sent, may_name))
        shared += len(named) - len(pc.unique(named))
    return Transform(
        group,
        inputs + found.nameless,
        outputs,
        without_output + found.nameless,
        without_input,
        shared,
        found.undecided,
    )


def _numbers(found: Mapping[str, list[Any]], uid: str, more: Any = None) -> Any:
    chunks = [*found.get(uid, []), *(more.chunks if more is not None else ())]
    return pa.chunked_array(chunks, pa.int64())


def _true(values: Any) -> int:
    return int(pc.sum(values).as_py() or 0)
