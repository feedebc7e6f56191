"""What the pods of a run write, whatever keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa


class TableWriter(Protocol):
    """Writes one table of one incarnation; see ``krt_contract.ledger.LedgerWriter``."""

    def write(self, columns: Mapping[str, Sequence[Any]]) -> object:
        """Write rows and number them; durable when it returns. No rows, nothing is written."""

    def write_open(self, table: pa.Table) -> None:
        """Replace the rows that have no final number yet; durable when it returns."""

    def roll(self) -> object:
        """Make the rows of the last ``write_open`` final: the next one starts anew."""

    def discard_open(self) -> None:
        """Take back the rows of the last ``write_open``."""


class LineWriter(Protocol):
    """Appends to one text, which several threads may do."""

    def write(self, data: bytes) -> None:
        """Append whole lines.

        Raises:
            OSError: they were not taken; nothing of them is kept.
        """

    def sync(self) -> None:
        """Make everything durable.

        Raises:
            OSError: lines that had been taken are lost.
        """

    def close(self) -> None:
        """Make everything durable and append no more; errors as of ``sync``."""


class LineFolder(Protocol):
    """A folder of texts that lines are appended to."""

    def open(self, name: str) -> LineWriter:
        """Return a writer that goes on where the text ends; made where it is not there.

        Raises:
            OSError: it cannot be written.
        """

    def drop_torn_line(self, name: str) -> None:
        """Cut off what a killed writer left of the last line of a text.

        Raises:
            OSError: it cannot be written.
        """

    def names(self) -> list[str]:
        """Return the names of the texts that are there, sorted."""

    def tail(self, name: str, size: int) -> tuple[bytes, bool]:
        """Return about the last ``size`` bytes of a text, and whether something is before them.

        Nothing where there is no such text.
        """


class Document(Protocol):
    """A JSON document that may be written several times."""

    def read(self) -> dict[str, Any]:
        """Return what was written last; nothing where it was never written.

        Raises:
            OSError: it cannot be read.
        """

    def write(self, value: dict[str, Any]) -> None:
        """Write it as a whole.

        Raises:
            OSError: it was not written; what it was before stays.
        """


class Sink(Protocol):
    """One bundle, to be written."""

    def table(self, name: str, stem: str) -> TableWriter:
        """Return the writer of a table of ``schemas.TABLES``.

        Args:
            name: of the table.
            stem: unique among the writers of the table, by custom ``<member>-<pod uid>``.
        """

    def clear(self, name: str, stem: str) -> None:
        """Delete what an earlier writer of that stem left in a table.

        Raises:
            OSError: it cannot be deleted.
        """

    def lines(self, name: str) -> LineFolder:
        """Return a folder of the bundle: ``timeline``, ``logs`` or ``metadata_log``."""

    def run_json(self) -> Document:
        """Return ``run.json``."""
