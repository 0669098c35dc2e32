"""The compose backend: the five containers of cluster/docker-compose.yml, each with a replica.

Happy path: the cluster is brought up under a project name, a subnet and ports of this run's own,
with an overlay that mounts each node's data, socket and clock from this machine. Clients use the
containers' addresses. Packets are dropped by iptables inside the containers' network namespaces
(nsenter). At a failover the replica moves to its dead primary's address; the primary's container
waits to be the next replica.

Failure modes: not root, no engine, no compose: check() says so. close() removes containers, network
and volumes, also after a start that failed half way.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
from pathlib import Path

from backend import Backend, need_root
from clock import Clock
from container import PORT, Container
from network import NamespaceNetwork, run
from node import Node
from server import ChaosError, Server
from subnet import free_prefix

IMAGE = "redlock-redis"
CLUSTER = Path(__file__).resolve().parent.parent
# The command of docker-compose.yml, plus a socket and a log.
COMMAND = (
    "redis-server --protected-mode no --maxmemory 64mb --maxmemory-policy noeviction "
    "--appendonly yes --appendfsync everysec --save '' --unixsocket /run/redlock/redis.sock "
    "--unixsocketperm 777 --repl-diskless-sync-delay 0 --logfile /data/redis.log"
)


def compose_command() -> list[str]:
    """Either generation of compose."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            tried = subprocess.run([*command, "version"], capture_output=True, check=False)
            if tried.returncode == 0:
                return command
    raise ChaosError(
        "neither 'docker compose' nor docker-compose is there; as root: sh cluster/setup.sh compose"
    )


def free_ports() -> str:
    """Five consecutive free ports, without their last digit."""
    for _ in range(100):
        prefix = str(random.randint(1000, 3199))
        try:
            for last in range(1, 6):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", int(f"{prefix}{last}")))
            return prefix
        except OSError:
            continue
    raise ChaosError("no five free ports in a row between 10001 and 31995")


class ComposeNode(Node):
    """server and spare change places at a failover."""

    def __init__(
        self, server: Container, spare: Container, clock: Clock, network_name: str
    ) -> None:
        network = NamespaceNetwork(self._inside, PORT)
        super().__init__(server.name, f"redis://{server.host}:{PORT}", server, clock, network)
        self._spare = spare
        self._network_name = network_name

    def _inside(self) -> list[str]:
        assert isinstance(self.server, Container)
        return self.server.inside()

    def make_replica(self) -> Server:
        if self._spare.pid() is None:
            self._spare.wipe()
            self._spare.launch()
        self._spare.wait_up()
        self._spare.call("REPLICAOF", *self.server.replication_address())
        return self._spare

    def take_over(self, replica: Server) -> None:
        dead = self.server
        assert isinstance(dead, Container) and isinstance(replica, Container)
        address, spare_address = dead.host, replica.host
        run("docker", "network", "disconnect", self._network_name, dead.ident)
        replica.move(self._network_name, address)
        dead.host = spare_address
        run("docker", "network", "connect", "--ip", spare_address, self._network_name, dead.ident)
        self._spare = dead


class ComposeBackend(Backend):
    name = "compose"
    cannot = {"change": "it has no nodes that could take the place of others"}

    def __init__(self, work: Path, count: int, clock_library: Path) -> None:
        super().__init__(work, count, clock_library)
        self._compose: list[str] = []
        self._environment: dict[str, str] = {}
        self._project = f"redlockchaos{os.getpid()}"

    def check(self) -> None:
        need_root("compose")
        for tool in ("docker", "iptables", "nsenter", "tc"):
            if not shutil.which(tool):
                raise ChaosError(f"{tool} is not installed; as root: sh cluster/setup.sh compose")
        asked = subprocess.run(["docker", "info"], capture_output=True, check=False)
        if asked.returncode != 0:
            raise ChaosError("no Docker engine answers; start one (dockerd, as root)")
        compose_command()

    def start(self) -> None:
        overlay = self.work / "chaos.json"
        names = [f"{kind}{number}" for kind in ("node", "replica") for number in range(1, 6)]
        clocks = {f"n{number}": self._make_clock(number) for number in range(1, 6)}
        overlay.write_text(json.dumps({"services": {name: self._service(name) for name in names}}))
        prefix = free_prefix()
        self._environment = {
            **os.environ,
            "REDLOCK_REDIS_IMAGE": self._image(),
            "REDLOCK_SUBNET": prefix,
            "REDLOCK_PORTS": free_ports(),
        }
        files = (CLUSTER / "docker-compose.yml", CLUSTER / "docker-compose.replicas.yml", overlay)
        self._compose = [*compose_command(), "-p", self._project]
        for file in files:
            self._compose += ["-f", str(file)]
        self._run_compose("up", "-d")
        for number in range(1, 6):
            name = f"n{number}"
            server = self._container(name, f"node{number}", f"{prefix}.1{number}")
            spare = self._container(name, f"replica{number}", f"{prefix}.2{number}")
            server.wait_up()
            spare.wait_up()
            self.nodes.append(ComposeNode(server, spare, clocks[name], f"{self._project}_nodes"))

    def close(self) -> None:
        if self._compose:
            # A process that was stopped must be continued before a signal can end it.
            for node in self.nodes:
                if node.server.pid() is not None:
                    node.server.kill()
            self._run_compose("down", "-v", "-t", "1")
        for node in self.nodes:
            node.clock.close()

    def _run_compose(self, *words: str) -> str:
        done = subprocess.run(
            [*self._compose, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self._environment,
            check=False,
        )
        if done.returncode != 0:
            raise ChaosError(f"{' '.join(self._compose)} {words[0]}:\n{done.stderr.strip()}")
        return done.stdout

    def _image(self) -> str:
        """The requested image, or one made from this machine's packages."""
        given = os.environ.get("REDLOCK_REDIS_IMAGE")
        if given:
            return given
        run("sh", str(CLUSTER / "image.sh"), IMAGE)
        return IMAGE

    def _make_clock(self, number: int) -> Clock:
        folder = self.work / f"clock{number}"
        folder.mkdir()
        return Clock(folder / "clock")

    def _service(self, name: str) -> dict[str, object]:
        """The overlay of one container: node3 and replica3 are one node and share its clock."""
        folder = self.work / name
        for part in ("run", "data"):
            (folder / part).mkdir(parents=True)
        return {
            "command": COMMAND,
            "user": "0:0",
            "environment": {
                "LD_PRELOAD": "/usr/lib/redlock-clock.so",
                "REDLOCK_CLOCK_FILE": "/run/clock/clock",
            },
            "volumes": [
                f"{folder}/run:/run/redlock",
                f"{folder}/data:/data",
                f"{self.work}/clock{name[-1]}:/run/clock:ro",
                f"{self.clock_library}:/usr/lib/redlock-clock.so:ro",
            ],
        }

    def _container(self, name: str, service: str, host: str) -> Container:
        ident = self._run_compose("ps", "-q", service).strip()
        return Container(name, ident, self.work / service, host)
