"""A double of kazoo's client: a tree of nodes that answers, or falls silent."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooState
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, NoNodeError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Stat:
    """The few fields of a node's stat that are read."""

    version: int = 0
    czxid: int = 1
    ctime: int = 1000
    mtime: int = 2000


@dataclass
class Tree:
    """The nodes that all clients see.

    Attributes:
        nodes: path → (content, stat).
        losses: paths whose next read loses the connection, which is there again at once.
        silent: set while no request is answered.
    """

    nodes: dict[str, tuple[bytes, Stat]] = field(default_factory=dict)
    losses: set[str] = field(default_factory=set)
    silent: threading.Event = field(default_factory=threading.Event)

    def client(self, **_settings: Any) -> Client:
        """Take the place of ``KazooClient``."""
        return Client(self)


@dataclass
class Client:
    """What ``KazooClient`` has that is used."""

    tree: Tree
    connected: bool = True

    def __post_init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []
        self._closed = threading.Event()
        self.watches: dict[str, Callable[[Any], None]] = {}

    def add_listener(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def start_async(self) -> None:
        self._connect()

    def stop(self) -> None:
        self._closed.set()

    def close(self) -> None:
        self._closed.set()

    def get(self, path: str, watch: Callable[[Any], None] | None = None) -> tuple[bytes, Stat]:
        self._answer(path, watch)
        if path not in self.tree.nodes:
            raise NoNodeError
        return self.tree.nodes[path]

    def exists(self, path: str, watch: Callable[[Any], None] | None = None) -> Stat | None:
        self._answer(path, watch)
        return self.tree.nodes.get(path, (b"", None))[1]

    def get_children(self, path: str, watch: Callable[[Any], None] | None = None) -> list[str]:
        self._answer(path, watch)
        below = [node.removeprefix(f"{path}/") for node in self.tree.nodes if node != path]
        children = {
            rest.partition("/")[0]
            for node, rest in zip((n for n in self.tree.nodes if n != path), below, strict=True)
            if node.startswith(f"{path}/")
        }
        if not children:
            raise NoNodeError
        return sorted(children)

    def _connect(self) -> None:
        for listener in self._listeners:
            listener(KazooState.CONNECTED)

    def _answer(self, path: str, watch: Callable[[Any], None] | None) -> None:
        if self.tree.silent.is_set():
            self._closed.wait()
        if self._closed.is_set():
            raise ConnectionClosedError
        if path in self.tree.losses:
            self.tree.losses.discard(path)
            self._connect()
            raise ConnectionLoss
        if watch is not None:
            self.watches[path] = watch
