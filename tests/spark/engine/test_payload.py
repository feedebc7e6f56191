"""Spark reads payloads as ``krt_contract.payload`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.payload import Encoder, decode
from krt_scoring.engine import payload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = Encoder("run", "p-0", "uid-1", 160).encode(7)
SHORT = Encoder("run", "p-0", "uid-1", 0).encode(123_456_789)
VALUES = [
    GOOD,
    SHORT,
    GOOD.replace(b"xx", b"xy", 1),
    GOOD[:-1],
    GOOD[:-8] + b"zzzzzzzz",
    GOOD.replace(b"p-0", b"p\xff0"),
    GOOD.replace(b";7;", b";-7;"),
    GOOD.replace(b";7;", b";7x;"),
    GOOD.replace(b"xxx", b"x;x", 1),
    GOOD.replace(b"xxx", b"\x00\xff\x80", 1),
    GOOD[:-8] + GOOD[-8:].upper(),
    GOOD[:-8] + GOOD[-8:].replace(b"0", b"_"),
    b"krt2" + GOOD[4:],
    b"krt1;",
    b"",
    b"foreign",
    bytes(range(256)),
    None,
]


def test_parse_every_value_agrees_with_python(spark: SparkSession) -> None:
    frame = spark.createDataFrame(list(enumerate(VALUES)), "n int, value binary")
    for row in payload.parse(frame).collect():
        expected = decode(VALUES[row["n"]])
        if expected is None:
            assert row["producer"] is None, VALUES[row["n"]]
            assert row["checksum_ok"] is False
            continue
        found = tuple(
            row[name]
            for name in ("run_uid", "producer", "producer_incarnation", "seq", "checksum_ok")
        )
        assert found == (
            expected.run_uid,
            expected.producer,
            expected.producer_incarnation,
            expected.seq,
            expected.checksum_ok,
        ), VALUES[row["n"]]
