"""One node of the cluster: its current server, its clock, its network.

The server changes at a failover; the URL, which is all that clients know, does not. A backend
derives its node from Node and implements making a replica and taking over the address.
"""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod

from clock import Clock
from network import Network
from server import Server


class Node(ABC):
    """name: "n1" and so on. One fault at a time uses a node; the sampler reads pid()
    concurrently."""

    def __init__(self, name: str, url: str, server: Server, clock: Clock, network: Network) -> None:
        self.name = name
        self.url = url
        self.server = server
        self.clock = clock
        self.network = network

    @abstractmethod
    def make_replica(self) -> Server:
        """Starts a server that replicates the current one; it is not in sync yet."""

    @abstractmethod
    def take_over(self, replica: Server) -> None:
        """Puts the replica behind the node's URL. The former server is dead."""

    def fail_over(self, lag_s: float) -> None:
        """The primary dies lag_s after the replica got its last write from it.

        The replica is detached first, so what the primary answers from then on is what an
        asynchronous replication had not sent yet when the primary died.
        """
        replica = self.make_replica()
        replica.wait_up()
        replica.wait_synced()
        replica.call("REPLICAOF", "NO", "ONE")
        time.sleep(lag_s)
        self.server.kill()
        self.take_over(replica)
        self.server = replica

    def heal(self) -> None:
        """Restores the node from any state in which an interrupted fault has left it."""
        self.clock.reset()
        if self.server.pid() is None:
            self.server.launch()
        else:
            self.server.signal(signal.SIGCONT)
        self.server.wait_up()
        self.network.heal()
