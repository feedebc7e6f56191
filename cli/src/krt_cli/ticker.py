"""Says that something is still going on: a line that changes on a terminal, else one at times."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console
    from rich.status import Status

INTERVAL_S: Final = 15.0
"""Seconds between two lines where there is no terminal."""

TICK_S: Final = 1.0
"""Seconds between two changes of the line on a terminal."""


class Background(ABC):
    """A thread that shows something until the block ends; on a terminal, in a line at the bottom.

    Args:
        console: where it goes.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._ended = threading.Event()
        self._status: Status | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @abstractmethod
    def _run(self) -> None:
        """Show it until ``_ended`` is set; ``_status`` is the line, None without a terminal."""

    def __enter__(self) -> Self:
        """Begin."""
        if self._console.is_terminal:
            self._status = self._console.status("")
            self._status.start()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._ended.set()
        self._thread.join()
        if self._status:
            self._status.stop()


class Ticker(Background):
    """Shows what is going on, and for how many seconds, until the block ends.

    Args:
        console: where it goes.
        text: what is going on.
    """

    def __init__(self, console: Console, text: str) -> None:
        super().__init__(console)
        self._text = text
        self._since = time.monotonic()

    def __enter__(self) -> Self:
        """Begin."""
        self._console.print(self._text, markup=False)
        super().__enter__()
        if self._status:
            self._status.update(self._text)
        return self

    def show(self, text: str) -> None:
        """Replace what is going on."""
        self._text = text

    def _run(self) -> None:
        interval = TICK_S if self._status else INTERVAL_S
        while not self._ended.wait(interval):
            line = f"{self._text}, {time.monotonic() - self._since:.0f} s"
            if self._status:
                self._status.update(line)
            else:
                self._console.print(line, markup=False)
