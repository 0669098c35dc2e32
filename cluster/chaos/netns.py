"""The netns backend: each node in a network namespace of its own, so that packets really are lost.

Happy path: for each node a namespace redlock-PID-nI and a pair of linked devices, rlPIDnIh here and
rlPIDnI inside, with two addresses out of an unused /30. The client's packets to the node cross that
link; the kernel inside drops, resets and slows them. A replica runs on another port of the same
namespace and takes over the primary's port. With TLS these are the ports with TLS.

Failure modes: not root, no ip or iptables, or a kernel without them: check() says so. close()
removes namespaces and devices by their names, which carry our pid, also after a start that failed
half way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

from backend import need_root
from clock import Clock
from network import NamespaceNetwork, run
from node import Node
from process import ProcessBackend, RedisProcess, find_redis_server
from server import ChaosError, Server
from subnet import free_prefix

PORT = 6379
REPLICA_PORT = 6380
PLAIN_PORTS = 7000  # with TLS: for replication, one for each server


class NetnsNode(Node):
    """A node in its namespace."""

    def __init__(
        self, backend: "NetnsBackend", server: Server, clock: Clock, network: NamespaceNetwork
    ) -> None:
        host, _ = server.replication_address()
        super().__init__(server.name, backend.url(host, PORT), server, clock, network)
        self._backend = backend

    def make_replica(self) -> Server:
        host, port = self.server.replication_address()
        replica = self._backend.launch(self.name, host, REPLICA_PORT)
        replica.wait_up()
        replica.call("REPLICAOF", host, port)
        return replica

    def take_over(self, replica: Server) -> None:
        assert isinstance(replica, RedisProcess)
        replica.serve_clients_on(PORT)
        self._backend.forget(self.server)


class NetnsBackend(ProcessBackend):
    name = "netns"

    def __init__(self, work: Path, count: int, clock_library: Path) -> None:
        super().__init__(work, count, clock_library)
        self._spaces: list[tuple[str, str]] = []  # namespace, device on this side
        self.cannot = {}

    def check(self) -> None:
        need_root("netns")
        for tool in ("ip", "iptables", "tc"):
            if not shutil.which(tool):
                raise ChaosError(f"{tool} is not installed; as root: sh cluster/setup.sh chaos")
        version = subprocess.run(
            [find_redis_server(), "--version"], capture_output=True, text=True, check=True
        ).stdout
        major = version.partition("v=")[2].partition(".")[0]
        if not major.isdigit() or int(major) < 7:
            why = "a server can change its port from Redis 7.0 on; this one is: " + version.strip()
            self.cannot = {"failover": why}

    def start(self) -> None:
        prefix = free_prefix()
        hosts = {}
        for number in range(1, self.count + 1):
            name = f"n{number}"
            (self.work / name).mkdir()
            hosts[name] = self._make_space(name, prefix, number)
        if self.with_tls:
            self.make_certificates(list(hosts.values()))
        for name, host in hosts.items():
            clock = Clock(self.work / name / "clock")
            server = self.launch(name, host, PORT)
            server.wait_up()
            network = NamespaceNetwork(partial(self.inside, name), PORT)
            self.nodes.append(NetnsNode(self, server, clock, network))

    def space(self, name: str) -> str:
        return f"redlock-{os.getpid()}-{name}"

    def inside(self, name: str) -> list[str]:
        """What runs a command in the node's namespace."""
        return ["ip", "netns", "exec", self.space(name)]

    def _make_space(self, name: str, prefix: str, number: int) -> str:
        """Makes the namespace and the link to it; returns the address inside."""
        space = self.space(name)
        inner = f"rl{os.getpid()}{name}"
        outer = inner + "h"
        here, there = (f"{prefix}.{number * 4 + last}" for last in (1, 2))
        self._spaces.append((space, outer))
        run("ip", "netns", "add", space)
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", space)
        run("ip", "addr", "add", f"{here}/30", "dev", outer)
        run("ip", "link", "set", outer, "up")
        run("ip", "-n", space, "addr", "add", f"{there}/30", "dev", inner)
        run("ip", "-n", space, "link", "set", inner, "up")
        run("ip", "-n", space, "link", "set", "lo", "up")
        return there

    def launch(self, name: str, host: str, port: int) -> RedisProcess:
        """Starts a new server of this node, which clients reach on this port; does not wait for
        it."""
        plain_port = PLAIN_PORTS + self._launched if self.with_tls else None
        return self.add(name, host, port, plain_port, self.inside(name))

    def close(self) -> None:
        super().close()
        for space, outer in self._spaces:
            for command in (["ip", "link", "del", outer], ["ip", "netns", "del", space]):
                # A failed start may not have made everything.
                subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
