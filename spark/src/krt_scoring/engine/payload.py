"""Reading the payload with Spark's built-in functions (format: ``krt_contract.payload``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.payload import (
    CRC_LENGTH,
    FIELDS,
    MAGIC,
    SEPARATOR,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TAIL = CRC_LENGTH + len(SEPARATOR)


def parse(rows: DataFrame, value: str = "value") -> DataFrame:
    """Return ``rows`` with run_uid, producer, producer_incarnation, seq and checksum_ok.

    The identity is null where the value is none of ours; ``checksum_ok`` is then false. A value
    of ours with damaged bytes keeps its identity as long as that can be read.

    Args:
        rows: records as the Kafka connector gives them.
        value: name of the binary column.
    """
    # ISO 8859-1 maps every byte to one character, so splitting never fails on damaged bytes.
    text = sf.decode(sf.col(value), "ISO-8859-1")
    fields = sf.split(text, SEPARATOR)
    identity = sf.concat_ws(SEPARATOR, *[fields[index] for index in range(1, 4)])
    ours = (
        sf.startswith(text, sf.lit(MAGIC + SEPARATOR))
        & (sf.size(fields) == FIELDS)
        & fields[4].rlike("^[0-9]+$")
        & identity.rlike(r"^[\x00-\x7f]*$")
    )
    body = sf.substring(sf.col(value), sf.lit(1), sf.length(value) - _TAIL)
    # Not lower(): its first use makes each JVM map every character of Unicode to title case (3 s).
    crc = sf.lpad(sf.translate(sf.hex(sf.crc32(body)), "ABCDEF", "abcdef"), CRC_LENGTH, "0")
    return (
        rows.withColumn("_ours", ours)
        .withColumn("run_uid", sf.when(sf.col("_ours"), fields[1]))
        .withColumn("producer", sf.when(sf.col("_ours"), fields[2]))
        .withColumn("producer_incarnation", sf.when(sf.col("_ours"), fields[3]))
        .withColumn("seq", sf.when(sf.col("_ours"), fields[4].try_cast("long")))
        .withColumn("checksum_ok", sf.col("_ours") & (fields[FIELDS - 1] == crc))
        .withColumn("checksum_ok", sf.expr("coalesce(checksum_ok, false)"))
        .drop("_ours")
    )
