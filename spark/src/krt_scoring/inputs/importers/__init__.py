"""Histories that other tools recorded, turned into the evidence the rules read.

One sub-package a tool. An importer turns a directory into a bundle in a folder of its own, so
that everything after it is the way of every other bundle; the directory itself is only read.
"""

from __future__ import annotations

from krt_scoring.inputs.importers.verifiable import importer as verifiable

IMPORTERS = {"verifiable": verifiable.load}
"""``--from`` → what imports such a history: (directory, folder for the bundle) → imported."""
