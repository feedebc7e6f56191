"""The KRaft metadata log as evidence: its records in the bundle, and what they add up to.

`record` says what a record is and how it lies in a bundle, `files` where, `fold` turns the records
into the states of partitions, brokers and controller that the timeline knows.
"""
