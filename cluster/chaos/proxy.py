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
from dataclasses import dataclass, field

RETRANSMIT_S = 0.2  # Linux's smallest pause before a packet is repeated
PIECE_BYTES = 65536


@dataclass
class Link:
    """The settings of the path to one node, and the connections on it."""

    upstream: str
    to_node: bool = True
    from_node: bool = True
    reset: bool = False
    delay_ms: int = 0
    loss: float = 0.0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def change(self, settings: dict[str, object]) -> None:
        for name, value in settings.items():
            if name not in ("upstream", "to_node", "from_node", "reset", "delay_ms", "loss"):
                raise ValueError(f"a link has no setting {name!r}")
            setattr(self, name, value)
        if self.reset:
            for writer in list(self.writers):
                abort(writer)
        # Waiting tasks check again.
        self.changed.set()
        self.changed = asyncio.Event()

    async def passage(self, direction: str) -> None:
        """Returns when a piece may go on in this direction."""
        if self.loss and random.random() < self.loss:
            await asyncio.sleep(RETRANSMIT_S)
        if self.delay_ms:
            await asyncio.sleep(random.uniform(0.5, 1.0) * self.delay_ms / 1000)
        while not getattr(self, direction):
            await self.changed.wait()


def abort(writer: asyncio.StreamWriter) -> None:
    """Closes at once; the peer sees a reset."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def pump(
    link: Link, direction: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Carries one direction of one connection until either side ends it."""
    while data := await reader.read(PIECE_BYTES):
        await link.passage(direction)
        writer.write(data)
        await writer.drain()
    await link.passage(direction)  # the end of a connection travels no faster than its bytes


async def serve(link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One client's connection, from its beginning to its end."""
    ends = [writer]
    link.writers.add(writer)
    pumps: list[asyncio.Task[None]] = []
    try:
        if link.reset:
            return
        await link.passage("to_node")
        host, port = link.upstream.rsplit(":", 1)
        node_reader, node_writer = await asyncio.open_connection(host, int(port))
        ends.append(node_writer)
        link.writers.add(node_writer)
        pumps = [
            asyncio.ensure_future(pump(link, "to_node", reader, node_writer)),
            asyncio.ensure_future(pump(link, "from_node", node_reader, writer)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    except OSError:
        pass  # refused or reset by the node: the client's end is reset below
    finally:
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        for end in ends:
            link.writers.discard(end)
            abort(end)


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
        server = await asyncio.start_server(
            lambda reader, writer, link=link: serve(link, reader, writer), "127.0.0.1", 0
        )
        ports[name] = server.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await obey(links)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
