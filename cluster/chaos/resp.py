"""A small Redis client for the chaos script itself: over a node's unix socket, past the network.

Happy path: Connection(path).call("PING") == "PONG". The script reaches a node by its socket in the
file system, so that it can still inspect and heal a node that is cut off from its clients.

Failure modes: an error reply raises RedisError; a node that is down, hangs or closes raises OSError
(timeouts are OSError too), and the connection is unusable afterwards.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Union

Reply = Union[str, int, None, list]


class RedisError(Exception):
    """The node answered, with an error."""


class Connection:
    """One connection, closed by close() or at the end of a with block."""

    def __init__(self, path: Path, timeout_s: float = 2.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(str(path))
            self._file = self._socket.makefile("rb")
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def call(self, *words: Union[str, int]) -> Reply:
        """Sends one command and waits for its answer."""
        return self.pipeline([words])[0]

    def pipeline(self, commands: list[tuple[Union[str, int], ...]]) -> list[Reply]:
        """Sends all commands at once; raises the first error after having read every answer."""
        self._socket.sendall(b"".join(_encode(words) for words in commands))
        answers: list[Reply] = []
        error: RedisError | None = None
        for _ in commands:
            try:
                answers.append(self._read())
            except RedisError as failed:
                error = error or failed
        if error is not None:
            raise error
        return answers

    def info(self, section: str) -> dict[str, str]:
        """INFO as a dict."""
        text = str(self.call("INFO", section))
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def _read(self) -> Reply:
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the node closed the connection")
        kind, rest = line[:1], line[1:-2].decode("utf-8", "replace")
        if kind == b"+":
            return rest
        if kind == b"-":
            raise RedisError(rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._read_bulk(int(rest))
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        raise ConnectionError(f"this is not an answer of Redis: {line!r}")

    def _read_bulk(self, length: int) -> str | None:
        if length < 0:
            return None
        data = self._file.read(length + 2)
        if len(data) != length + 2:
            raise ConnectionError("the node closed the connection")
        return data[:-2].decode("utf-8", "replace")


def _encode(words: tuple[Union[str, int], ...]) -> bytes:
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)
