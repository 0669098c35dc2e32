"""The implementation of each fault. faults.py has the catalogue.

Happy path: inject(step, node) is a generator. Up to its yield it does the damage; after it, it
heals. It yields what was done, and optionally an action to repeat meanwhile.

Failure modes: a fault that cannot be injected raises ChaosError, RedisError or OSError: the run
proves nothing then.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from node import Node
from resp import Connection, RedisError
from schedule import Step

# The allowance of the library is 1 % of the ttl and 2 ms, for two clocks that may both be wrong.
DRIFT_PPM = 4000
FILLER_BYTES = 10_000
FILLER_ROOM_BYTES = 600_000
FILLER_TTL_S = 3600
FILLER_PREFIX = "chaos-filler:"
NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Damage:
    """detail: for the record. again: called every few milliseconds while the fault lasts.

    A second one, yielded while healing, is an intermediate state: loading.
    """

    detail: str = ""
    again: Callable[[], None] | None = None
    state: str = ""


Injection = Iterator[Damage]


def _sigkill(node: Node, _step: Step, draw: random.Random) -> Injection:
    node.server.kill()
    yield Damage()
    yield from _restart(node)


def _sigkill_empty(node: Node, _step: Step, draw: random.Random) -> Injection:
    node.server.kill()
    node.server.wipe()
    yield Damage("data removed")
    yield from _restart(node)


def _restart(node: Node) -> Injection:
    node.server.launch()
    yield Damage(state="loading")
    node.server.wait_up()


def _sigstop(node: Node, _step: Step, draw: random.Random) -> Injection:
    node.server.signal(signal.SIGSTOP)
    yield Damage()
    node.server.signal(signal.SIGCONT)
    node.server.wait_up()


def _partition(node: Node, step: Step, draw: random.Random) -> Injection:
    to_node = step.fault != "partition-out"
    from_node = step.fault != "partition-in"
    yield Damage(node.network.cut(to_node, from_node))
    node.network.heal()


def _reset(node: Node, _step: Step, draw: random.Random) -> Injection:
    yield Damage(node.network.reset())
    node.network.heal()


def _delay(node: Node, _step: Step, draw: random.Random) -> Injection:
    yield Damage(node.network.delay(draw.randint(20, 400)))
    node.network.heal()


def _loss(node: Node, _step: Step, draw: random.Random) -> Injection:
    yield Damage(node.network.loss(draw.uniform(0.05, 0.4)))
    node.network.heal()


def _client_pause(node: Node, step: Step, draw: random.Random) -> Injection:
    node.server.call("CLIENT", "PAUSE", step.for_ms)
    yield Damage(f"{step.for_ms} ms")
    node.server.wait_up()  # the pause ends by itself; until then this call blocks like any client


def _script_flush(node: Node, _step: Step, draw: random.Random) -> Injection:
    node.server.call("SCRIPT", "FLUSH")
    yield Damage()


def _flushall(node: Node, _step: Step, draw: random.Random) -> Injection:
    with node.server.connect() as connection:
        keys = connection.call("DBSIZE")
        connection.call("FLUSHALL")
    yield Damage(f"{keys} keys")


def _demote(node: Node, _step: Step, draw: random.Random) -> Injection:
    # The primary does not exist: the node keeps its data and refuses writes.
    node.server.call("REPLICAOF", "127.0.0.1", 1)
    yield Damage()
    node.server.call("REPLICAOF", "NO", "ONE")


def _failover(node: Node, step: Step, draw: random.Random) -> Injection:
    lag_ms = draw.randint(50, 500)
    node.fail_over(lag_ms / 1000)
    yield Damage(f"the replica was {lag_ms} ms behind")


def _clock_jump(node: Node, step: Step, draw: random.Random) -> Injection:
    by_ms = step.for_ms + draw.randint(0, step.for_ms)
    by_ns = by_ms * NS_PER_MS * (-1 if step.fault == "clock-back" else 1)
    node.clock.step(by_ns)
    yield Damage(f"{by_ns // NS_PER_MS:+d} ms")
    node.clock.step(-by_ns)


def _clock_drift(node: Node, _step: Step, draw: random.Random) -> Injection:
    rate_ppm = draw.choice((-DRIFT_PPM, DRIFT_PPM))
    node.clock.drift(rate_ppm)
    yield Damage(f"{rate_ppm:+d} ppm")
    node.clock.drift(0)


def _oom(node: Node, _step: Step, draw: random.Random) -> Injection:
    with node.server.connect() as connection:
        limit = _setting(connection, "maxmemory")
        connection.call("CONFIG", "SET", "maxmemory", 1)
    yield Damage("maxmemory 1, noeviction")
    node.server.call("CONFIG", "SET", "maxmemory", limit)


def _evict(node: Node, _step: Step, draw: random.Random) -> Injection:
    """volatile-ttl evicts what expires first: locks, before the filler that lives for an hour."""
    with node.server.connect() as connection:
        limit = _setting(connection, "maxmemory")
        used = int(connection.info("memory")["used_memory"])
        connection.call("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
        connection.call("CONFIG", "SET", "maxmemory", used + FILLER_ROOM_BYTES)
    filler = _Filler(node)
    yield Damage("volatile-ttl", filler.write)
    with node.server.connect() as connection:
        connection.call("CONFIG", "SET", "maxmemory", limit)
        connection.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        filler.remove(connection)


class _Filler:
    """More and more keys of another client."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._written = 0

    def write(self) -> None:
        text = "x" * FILLER_BYTES
        commands: list[tuple[str | int, ...]] = []
        for _ in range(10):
            self._written += 1
            commands.append(("SET", f"{FILLER_PREFIX}{self._written}", text, "EX", FILLER_TTL_S))
        try:
            with self._node.server.connect() as connection:
                connection.pipeline(commands)
        except RedisError:
            pass  # not even eviction makes room: the node is full, as intended

    def remove(self, connection: Connection) -> None:
        names = [f"{FILLER_PREFIX}{number + 1}" for number in range(self._written)]
        for start in range(0, len(names), 500):
            connection.call("DEL", *names[start : start + 500])


def _setting(connection: Connection, name: str) -> str:
    answer = connection.call("CONFIG", "GET", name)
    assert isinstance(answer, list) and len(answer) == 2
    return str(answer[1])


_INJECTIONS: dict[str, Callable[[Node, Step, random.Random], Injection]] = {
    "sigkill": _sigkill,
    "sigkill-empty": _sigkill_empty,
    "sigkill-late": _sigkill_empty,  # only late
    "sigstop": _sigstop,
    "partition": _partition,
    "partition-in": _partition,
    "partition-out": _partition,
    "reset": _reset,
    "delay": _delay,
    "loss": _loss,
    "client-pause": _client_pause,
    "script-flush": _script_flush,
    "flushall": _flushall,
    "demote": _demote,
    "failover": _failover,
    "clock-step": _clock_jump,
    "clock-back": _clock_jump,
    "clock-drift": _clock_drift,
    "evict": _evict,
    "oom": _oom,
}


def inject(step: Step, node: Node) -> Injection:
    """Begins the damage at the first next(), heals at the second."""
    return _INJECTIONS[step.fault](node, step, random.Random(step.seed))
