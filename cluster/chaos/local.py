"""The local backend: redis-server processes of this machine, without privileges; behind a proxy if
a fault of the run needs one.

Happy path: each server listens on a port that the system chose, clients know the proxy's port. So
the proxy can cut, delay and reset, and can put a replica behind the same address. Without a proxy
they know the server's. With TLS this is a second port of each server, which has a certificate for
this address. Failure modes: if another process takes a port between choosing and listening, start()
tries another one.
"""

from __future__ import annotations

import socket
from pathlib import Path

from clock import Clock
from node import Node
from process import ProcessBackend, RedisProcess, find_redis_server
from proxy_control import NoProxy, Proxy, ProxyNetwork
from server import ChaosError, Server

HOST = "127.0.0.1"
PORT_TRIES = 20


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class LocalNode(Node):
    """A node behind the proxy."""

    def __init__(
        self, backend: "LocalBackend", server: Server, url: str, clock: Clock, network: ProxyNetwork
    ) -> None:
        super().__init__(server.name, url, server, clock, network)
        self._backend = backend
        self._link = network

    def make_replica(self) -> RedisProcess:
        replica = self._backend.launch(self.name)
        replica.call("REPLICAOF", *self.server.replication_address())
        return replica

    def take_over(self, replica: Server) -> None:
        assert isinstance(replica, RedisProcess)
        self._link.lead_to(replica.client_address())
        self._backend.forget(self.server)


class LocalBackend(ProcessBackend):
    name = "local"

    def __init__(self, work: Path, count: int, clock_library: Path) -> None:
        super().__init__(work, count, clock_library)
        self._proxy: Proxy | NoProxy | None = None

    def check(self) -> None:
        find_redis_server()

    def start(self) -> None:
        if self.with_tls:
            self.make_certificates([HOST])
        clocks = {}
        upstreams = {}
        for number in range(1, self.count + 1):
            name = f"n{number}"
            (self.work / name).mkdir()
            clocks[name] = Clock(self.work / name / "clock")
            host, port = self.launch(name).client_address()
            upstreams[name] = f"{host}:{port}"
        log = self.work / "proxy.log"
        self._proxy = Proxy(upstreams, log) if self.with_proxy else NoProxy(upstreams)
        for server in self._servers:
            url = self.url(HOST, self._proxy.ports[server.name])
            network = ProxyNetwork(self._proxy, server.name)
            self.nodes.append(LocalNode(self, server, url, clocks[server.name], network))

    def launch(self, name: str) -> RedisProcess:
        """A new server that answers, on a port of its own."""
        for _ in range(PORT_TRIES):
            plain_port = free_port() if self.with_tls else None
            server = self.add(name, HOST, free_port(), plain_port, [])
            try:
                server.wait_up()
                return server
            except ChaosError as failed:
                self.forget(server)
                if "Address already in use" not in str(failed):
                    raise
        raise ChaosError(f"{name}: no free port in {PORT_TRIES} tries")

    def close(self) -> None:
        super().close()
        if self._proxy is not None:
            self._proxy.close()
