"""Addresses for the nodes of one run: a /24 out of 10.0.0.0/8 that this machine does not use.

Happy path: free_prefix() gives "10.x.y", from the script's own pid on, so that two runs at the same
time do not choose the same. Failure modes: a machine that uses all of 10.0.0.0/8, by one wide
route, raises ChaosError.
"""

from __future__ import annotations

import ipaddress
import os
import re

from network import run
from server import ChaosError

_TRIES = 4096


def used_networks() -> list[ipaddress.IPv4Network]:
    """The networks in which this machine has addresses or to which it has routes; the default route
    does not count."""
    text = run("ip", "-4", "route", "show", "table", "all") + run("ip", "-4", "-o", "addr", "show")
    found = re.findall(r"\b\d+\.\d+\.\d+\.\d+(?:/\d+)?", text)
    networks = [ipaddress.IPv4Network(one, strict=False) for one in found]
    return [network for network in networks if network.prefixlen > 0]


def free_prefix() -> str:
    used = used_networks()
    for number in range(_TRIES):
        candidate = (os.getpid() + number * 257) % 32768
        prefix = f"10.{64 + candidate // 256}.{candidate % 256}"
        network = ipaddress.IPv4Network(f"{prefix}.0/24")
        if not any(network.overlaps(other) for other in used):
            return prefix
    raise ChaosError("this machine uses all of 10.64.0.0 to 10.191.255.255; use --backend local")
