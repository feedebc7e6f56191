"""What each anomaly means, in a sentence for the report."""

from __future__ import annotations

MEANINGS = {
    "lost-write": "The record was acknowledged, and the log does not hold it.",
    "vanished-read": "A group was given the record, and no log holds it any more.",
    "unseen": "The record is in the log and was never delivered to a group that had to get it.",
    "duplicate-write": "The log holds the record at two or more offsets.",
    "duplicate-delivery": "A group was given the same offset again.",
    "misplaced-delivery": "A group was given the record from a place at which the log does not "
    "hold it.",
    "inconsistent-offsets": "Acknowledgements, deliveries and the log disagree about which record "
    "lies at an offset.",
    "aborted-read": "A send that failed, or whose transaction was aborted, is in the log or was "
    "read.",
    "poll-skip": "Between two polls a consumer passed over records.",
    "int-poll-skip": "Within one poll a consumer passed over records.",
    "nonmonotonic-poll": "Between two polls a consumer went back.",
    "int-nonmonotonic-poll": "Within one poll records were out of order.",
    "nonmonotonic-send": "Two sends of a producer to a partition lie in the log in reverse order.",
    "int-nonmonotonic-send": "Two sends of one transaction lie in the log in reverse order.",
    "precommitted-read": "A transaction read what it had written itself.",
    "commit-ahead": "A group committed an offset above a record that it had never been given.",
    "commit-rewind": "A consumer began below what its group had committed.",
    "double-ownership": "Two members of a group read a partition at the same time.",
    "unexpected-rebalance": "A group rebalanced although no member joined, left or died.",
    "key-order": "Records of one key were delivered in another order than the log's.",
    "corrupt-payload": "A record's bytes are not those that were sent.",
    "accepted-below-min-isr": "A write was acknowledged while fewer replicas than "
    "min.insync.replicas were in sync.",
    "replica-divergence": "Replicas in sync hold different contents at the same offset.",
}
"""Anomaly → what it means for a record, a group or a partition."""
