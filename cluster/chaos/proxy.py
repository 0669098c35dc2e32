"""The network path between clients and the nodes of the local backend: a separate process, one port
per node.

Happy path: started with one upstream per node (host:port), it prints one JSON line, the ports that
it listens on; then it reads one JSON line per change from its standard input, applies it, and
answers "ok". It ends when its standard input does. The settings of one node's link:

    to_node, from_node   false: what comes in this direction waits. The kernel does the same with a
                         connection whose packets are lost: it repeats them until they pass.
    reset                true: connections are reset, present ones and new ones delay_ms
    each piece waits up to so long (half of it at least) loss                 this share of pieces
    waits for RETRANSMIT_S, as the kernel repeats a lost packet upstream             host:port of
    the server behind it, for new connections

Failure modes: an upstream that refuses or closes costs the client its connection by a reset. An
invalid line ends the process with a traceback; the script notices at the next change.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import sys
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field

RETRANSMIT_S = 0.2  # Linux's smallest pause before a packet is repeated


@dataclass
class Link:
    """The settings of the path to one node, and the ends of the connections on it."""

    upstream: str
    to_node: bool = True
    from_node: bool = True
    reset: bool = False
    delay_ms: int = 0
    loss: float = 0.0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    ends: set[End] = field(default_factory=set)

    def change(self, settings: dict[str, object]) -> None:
        for name, value in settings.items():
            if name not in ("upstream", "to_node", "from_node", "reset", "delay_ms", "loss"):
                raise ValueError(f"a link has no setting {name!r}")
            setattr(self, name, value)
        if self.reset:
            for end in list(self.ends):
                end.abort()
        # Waiting tasks check again.
        self.changed.set()
        self.changed = asyncio.Event()

    def is_whole(self, direction: str) -> bool:
        return getattr(self, direction) and not self.delay_ms and not self.loss

    async def passage(self, direction: str) -> None:
        """Returns when a piece may go on in this direction."""
        if self.loss and random.random() < self.loss:
            await asyncio.sleep(RETRANSMIT_S)
        if self.delay_ms:
            await asyncio.sleep(random.uniform(0.5, 1.0) * self.delay_ms / 1000)
        while not getattr(self, direction):
            await self.changed.wait()


class End(asyncio.Protocol):
    """One of the two ends of a connection: what it receives goes on in its direction.

    A piece is written to the other end at once if the link is whole; a task carries the others, and
    nothing is read meanwhile. All clients share this process, so a piece must cost little: if the
    answers took longer than the clients wait for them, no lock would ever be granted."""

    def __init__(self, link: Link, direction: str, other: End | None = None) -> None:
        self._link = link
        self._direction = direction
        self._other = other
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._pieces: deque[bytes | None] = deque()  # None: the end of the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._link.ends.add(self)
        if self._link.reset:
            self.abort()
        elif self._other is None:
            self._start(self._reach_node())

    def data_received(self, data: bytes) -> None:
        self._pass(data)

    def eof_received(self) -> bool:
        self._pass(None)  # the end of a connection travels no faster than its bytes
        return True

    def pause_writing(self) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None and self._other._task is None:
            assert self._other._transport is not None
            self._other._transport.resume_reading()

    def connection_lost(self, _error: Exception | None) -> None:
        self.abort()

    def abort(self) -> None:
        """Closes both ends at once; the peers see a reset."""
        for end in (self, self._other):
            if end is None or end not in self._link.ends:
                continue
            self._link.ends.discard(end)
            if end._task is not None:
                end._task.cancel()
            assert end._transport is not None
            connection = end._transport.get_extra_info("socket")
            if connection is not None and connection.fileno() >= 0:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            end._transport.abort()

    def _pass(self, piece: bytes | None) -> None:
        if self._task is None and piece is not None and self._link.is_whole(self._direction):
            self._write(piece)
            return
        self._pieces.append(piece)
        if self._task is None:
            self._start(self._carry())

    def _write(self, piece: bytes | None) -> None:
        if piece is None or self._other is None or self._other._transport is None:
            self.abort()
        else:
            self._other._transport.write(piece)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        assert self._task is None and self._transport is not None
        self._transport.pause_reading()
        self._task = asyncio.ensure_future(work)

    async def _carry(self) -> None:
        while self._pieces:
            await self._link.passage(self._direction)
            self._write(self._pieces.popleft())
        self._rest()

    async def _reach_node(self) -> None:
        """For the client's end: makes the other one."""
        try:
            await self._link.passage("to_node")
            host, port = self._link.upstream.rsplit(":", 1)
            loop = asyncio.get_running_loop()
            _, self._other = await loop.create_connection(
                lambda: End(self._link, "from_node", self), host, int(port)
            )
        except OSError:
            self.abort()  # refused by the node
            return
        await self._carry()  # some versions of asyncio read in spite of the pause

    def _rest(self) -> None:
        """Reads on. An end that was aborted meanwhile does nothing more."""
        self._task = None
        if self in self._link.ends:
            assert self._transport is not None
            self._transport.resume_reading()


async def obey(links: dict[str, Link]) -> None:
    """Reads changes until the standard input ends."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        change = json.loads(line)
        links[change.pop("node")].change(change)
        print("ok", flush=True)


async def main(upstreams: list[str]) -> None:
    links = {}
    ports = {}
    for argument in upstreams:
        name, upstream = argument.split("=", 1)
        link = links[name] = Link(upstream)
        server = await asyncio.get_running_loop().create_server(
            lambda link=link: End(link, "to_node"), "127.0.0.1", 0
        )
        ports[name] = server.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await obey(links)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
