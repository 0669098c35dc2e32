"""Faults of the network path between the clients and one node.

Happy path: one of cut(), reset(), delay(), loss(); heal() undoes it. NamespaceNetwork uses the
kernel inside the node's network namespace: iptables drops and resets, tc limits the rate. The local
backend has ProxyNetwork (proxy_control.py) instead.

Failure modes: a tool that is missing or fails raises ChaosError with its message.
"""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable

from server import ChaosError

# A link so slow that answers queue for some hundred milliseconds.
SLOW_RATE = "24kbit"
SLOW_BURST = "1600"
SLOW_QUEUE = "600ms"


def run(*command: str) -> str:
    """Runs a tool and returns its output; raises ChaosError with that if it fails."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise ChaosError(f"{' '.join(command)}: {failed}") from failed
    if done.returncode != 0:
        raise ChaosError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Network(ABC):
    """Each function returns a few words for the record of the run."""

    @abstractmethod
    def cut(self, to_node: bool, from_node: bool) -> str:
        """Blocks the directions that are true."""

    @abstractmethod
    def reset(self) -> str:
        """Resets connections, present and new ones."""

    @abstractmethod
    def delay(self, delay_ms: int) -> str:
        """Delays all traffic."""

    @abstractmethod
    def loss(self, share: float) -> str:
        """Loses this share of packets, in both directions."""

    @abstractmethod
    def heal(self) -> None:
        """Restores normal traffic."""


class NamespaceNetwork(Network):
    """inside() gives the words that run a command in the node's namespace; port: the node's."""

    def __init__(self, inside: Callable[[], list[str]], port: int) -> None:
        self._inside = inside
        self._port = str(port)

    def _run(self, *command: str) -> str:
        return run(*self._inside(), *command)

    def _iptables(self, *rule: str) -> None:
        self._run("iptables", "-w", *rule)

    def _devices(self) -> list[str]:
        """The devices that lead out: ends of veth pairs."""
        shown = self._run("ip", "-o", "link", "show", "type", "veth")
        return [line.split(":")[1].strip().split("@")[0] for line in shown.splitlines()]

    def cut(self, to_node: bool, from_node: bool) -> str:
        if to_node:
            self._iptables("-A", "INPUT", "!", "-i", "lo", "-j", "DROP")
        if from_node:
            self._iptables("-A", "OUTPUT", "!", "-o", "lo", "-j", "DROP")
        return "iptables DROP"

    def reset(self) -> str:
        reject = ("-j", "REJECT", "--reject-with", "tcp-reset")
        self._iptables("-A", "INPUT", "!", "-i", "lo", "-p", "tcp", "--dport", self._port, *reject)
        return "iptables REJECT tcp-reset"

    def delay(self, delay_ms: int) -> str:
        limit = ("rate", SLOW_RATE, "burst", SLOW_BURST, "latency", SLOW_QUEUE)
        for device in self._devices():
            self._run("tc", "qdisc", "replace", "dev", device, "root", "tbf", *limit)
        return f"tc tbf {SLOW_RATE}, queue {SLOW_QUEUE}"

    def loss(self, share: float) -> str:
        chance = ("-m", "statistic", "--mode", "random", "--probability", f"{share:.3f}")
        self._iptables("-A", "INPUT", "!", "-i", "lo", *chance, "-j", "DROP")
        self._iptables("-A", "OUTPUT", "!", "-o", "lo", *chance, "-j", "DROP")
        return f"{share:.0%} of packets, both ways"

    def heal(self) -> None:
        self._iptables("-F")
        for device in self._devices():
            if "tbf" in self._run("tc", "qdisc", "show", "dev", device):
                self._run("tc", "qdisc", "del", "dev", device, "root")
