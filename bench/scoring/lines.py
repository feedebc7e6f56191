"""The same history as the JSON lines that Kafka's own tools print, for the plain comparison.

``VerifiableProducer`` prints a line an ack, ``VerifiableConsumer --verbose`` one a record; the
value says who sent it and which it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.bundle import Bundle

ACKED, CONSUMED = "acked.jsonl", "consumed.jsonl"
_COLUMNS = ["topic", "partition", "offset", "producer", "seq", "outcome"]


def write(bundle: Bundle, folder: Path) -> None:
    """Write both files from the bundle's ledgers."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = (
        ("produce", "sent_at", ACKED, "acked", "producer_send_success"),
        ("consume", "delivered_at", CONSUMED, "ok", "record_data"),
    )
    for table, at, name, outcome, event in sources:
        with (folder / name).open("wb") as handle:
            for path in sorted(bundle.table(table).glob("*.parquet")):
                rows = pq.read_table(path, columns=[*_COLUMNS, at])
                rows = rows.filter(pc.equal(rows["outcome"], outcome))
                for batch in rows.to_batches():
                    handle.write(_lines(batch, at, event))


def _lines(rows: pa.RecordBatch, at: str, event: str) -> memoryview:
    def text(name: str) -> Any:
        return rows.column(name).cast(pa.string())

    lines = pc.binary_join_element_wise(
        '{"timestamp":',
        pc.divide(rows.column(at), 1_000).cast(pa.string()),
        f',"name":"{event}","key":null,"value":"',
        text("producer"),
        ".",
        text("seq"),
        '","topic":"',
        text("topic"),
        '","partition":',
        text("partition"),
        ',"offset":',
        text("offset"),
        "}\n",
        "",
    )
    # The lines of a column lie one behind the other in its buffer.
    begin, end = lines.offset, lines.offset + len(lines)
    offsets = memoryview(lines.buffers()[1]).cast("i")
    return memoryview(lines.buffers()[2])[offsets[begin] : offsets[end]]
