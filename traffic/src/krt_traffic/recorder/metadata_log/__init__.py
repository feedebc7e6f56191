"""The KRaft metadata log, followed from outside: every state of brokers, controller and partitions.

`connection` speaks to one node, `fetch` is the request and its answer, `decode` turns batches into
records, `position` decides what comes next, `store` keeps the records, `follower` ties them
together, `quorum` asks the brokers for the quorum's leader.
"""
