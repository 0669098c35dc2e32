#!/usr/bin/python3
"""examples/client.py, broken on purpose: for each story of `redlock conform` in the way that the
story must find. redlock conform names the story in REDLOCK_CONFORM_STORY.

So no story can only pass: conform_test.sh runs this client, and no story may end with PASS."""

import os
import pathlib
import queue
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import client  # noqa: E402  (found by the line above)
import redis  # noqa: E402


def of_node(**methods):
    """A Redlock whose nodes' methods are replaced by these."""
    kind = type("BrokenNode", (client.Node,), methods)
    return lambda urls: client.Redlock(urls, kind)


def of_lock(**methods):
    return type("BrokenLock", (client.Redlock,), methods)


def first_three(self, task, nodes, needed):
    return client.Redlock.ask(self, task, nodes[:3], needed)


def forget(self, key):
    """Forgets the lock without telling the nodes."""
    return self.holds.pop(key, None) is not None


def only_where_granted(self, key, token, ttl_ms):
    self.granted = getattr(self, "granted", set())
    if client.Node.set(self, key, token, ttl_ms):
        self.granted.add(token)
        return True
    return False


def release_where_granted(self, key, token, over_s):
    known = token in getattr(self, "granted", set())
    return client.Node.release(self, key, token, over_s) if known else False


def one_by_one(self, task, nodes, needed):
    said = []
    for node in nodes:
        said.append(client.Redlock.ask(self, task, [node], None))
    return sum(yes for yes, _ in said), sum(answered for _, answered in said)


def eager(self, key, ttl_ms, tries):
    return client.Redlock.acquire(self, key, ttl_ms, 3 * tries)


def own_is_yes(self, key, token, ttl_ms):
    return client.Node.set(self, key, token, ttl_ms) or self.redis.get(key) == token


def set_then_expire(self, key, token, ttl_ms):
    return bool(self.redis.setnx(key, token)) and bool(self.redis.pexpire(key, ttl_ms))


def blind_delete(self, key, token):
    return self.redis.delete(key) == 1


def get_then_delete(self, key, token):
    return self.redis.get(key) == token and self.redis.delete(key) == 1


def get_then_expire(self, key, token, ttl_ms):
    return self.redis.get(key) == token and bool(self.redis.pexpire(key, ttl_ms))


def set_again(self, key, token, ttl_ms):
    return bool(self.redis.set(key, token, px=ttl_ms))


def expire_any(self, key, token, ttl_ms):
    return bool(self.redis.pexpire(key, ttl_ms))


def cut_short(self, key, token, ttl_ms):
    script = "if redis.call('get', KEYS[1]) == ARGV[1] then " \
             "return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
    return self.redis.eval(script, 1, key, token, ttl_ms) == 1


def by_script(text):
    """A SET that is a script."""
    return of_node(set=lambda self, key, token, ttl_ms: self.redis.eval(
        "if redis.call('setnx', KEYS[1], ARGV[1]) == 0 then return 0 end " + text + " return 1",
        1, key, token, ttl_ms) == 1)


def read_then_extend(self, key, token, ttl_ms):
    return all(self.redis.get(key) for _ in range(2)) and \
        client.Node.extend(self, key, token, ttl_ms)


def until_needed(self, task, nodes, needed):
    """Asks one node after the other, as many as are needed."""
    said = []
    for node in nodes:
        if needed is None or sum(yes for yes, _ in said) < needed:
            said.append(client.Redlock.ask(self, task, [node], None))
    return sum(yes for yes, _ in said), sum(answered for _, answered in said)


class ByHashAlone(client.Node):
    """Loads its scripts once, at the start."""

    def __init__(self, url):
        super().__init__(url)
        for text in self.scripts:
            self.redis.script_load(text)

    def delete(self, key, token):
        return self.redis.evalsha(self.scripts[client.RELEASE].sha, 1, key, token) == 1

    def extend(self, key, token, ttl_ms):
        return self.redis.evalsha(self.scripts[client.EXTEND].sha, 1, key, token, ttl_ms) == 1


def errors_are_yes(self, task):
    try:
        return task(self) is not False
    except redis.RedisError:
        return True


class Raw(client.Node):
    """Talks to the node without redis-py, and takes the first read for the whole answer."""

    wants = b"+OK\r\n"

    def set(self, key, token, ttl_ms):
        host, port = self.redis.connection_pool.connection_kwargs["host"], \
            self.redis.connection_pool.connection_kwargs["port"]
        words = [word.encode() for word in ("SET", key, token, "NX", "PX", str(ttl_ms))]
        wire = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        with socket.create_connection((host, port), timeout=client.NODE_TIMEOUT_S) as stream:
            stream.sendall(wire)
            return stream.recv(4096)[:len(self.wants)] == self.wants


class RawHalf(Raw):
    wants = b"+"


class Patient(client.Node):
    """Waits for a node without a timeout."""

    def __init__(self, url):
        was, client.NODE_TIMEOUT_S = client.NODE_TIMEOUT_S, 3600
        super().__init__(url)
        client.NODE_TIMEOUT_S = was

    def hangs(self):
        return False


class LateCounts(client.Redlock):
    """Counts answers to earlier attempts for the current one."""

    def __init__(self, urls):
        super().__init__(urls, Patient)
        self.answers = queue.Queue()

    def ask(self, task, nodes, needed):
        if needed != self.quorum:
            return super().ask(task, nodes, needed)
        end_s = client.now_s() + self.patience_s
        for node in nodes:
            node.tasks.put((task, self.answers))
        yes = 0
        while yes < self.quorum and client.now_s() < end_s:
            try:
                yes += bool(self.answers.get(timeout=0.02))
            except queue.Empty:
                pass
        return yes, yes

    def acquire(self, key, ttl_ms, tries):
        self.patience_s = 1
        if ttl_ms < 1000:  # the attempt with late answers
            self.patience_s, self.answers = 0.25, queue.Queue()
        return super().acquire(key, ttl_ms, tries)


class WaitsForAll(client.Redlock):
    def __init__(self, urls):
        super().__init__(urls, Patient)

    def ask(self, task, nodes, needed):
        client.NODE_TIMEOUT_S = 3600
        return super().ask(task, nodes, None)


class CountsFromAnswers(client.Redlock):
    def valid_until_s(self, sent_s, ttl_ms):
        return super().valid_until_s(client.now_s(), ttl_ms)


class Late(CountsFromAnswers):
    def __init__(self, urls):
        client.Redlock.__init__(self, urls, Patient)


class NeverReconnects(client.Node):
    def attempt(self, task):
        if getattr(self, "is_dead", False):
            return None
        try:
            return task(self)
        except redis.ConnectionError:
            self.is_dead = True
            return None
        except redis.RedisError:
            return None

    def __init__(self, url):
        super().__init__(url)
        pool = self.redis.connection_pool
        get = pool.get_connection

        def get_connection(*args, **kwargs):
            for connection in pool._available_connections:
                if connection.can_read():  # it was closed
                    raise redis.ConnectionError("closed")
            return get(*args, **kwargs)

        pool.get_connection = get_connection


class OneToken(client.Redlock):
    def token(self):
        return "c0ffee" * 7


class TokenForEach(client.Redlock):
    """One token for all attempts of an acquire."""

    def acquire(self, key, ttl_ms, tries):
        self.now = client.secrets.token_hex(20)
        return super().acquire(key, ttl_ms, tries)

    def token(self):
        return self.now


class Gives(client.Redlock):
    """Reports every extension as successful."""

    def grants(self, yes):
        return True


class AlwaysGranted(client.Redlock):
    def acquire(self, key, ttl_ms, tries):
        super().acquire(key, ttl_ms, tries)
        self.holds.setdefault(key, (self.token(), client.now_s() + ttl_ms / 1000, 0))
        return ttl_ms // 2


class StandsInTheWay(client.Redlock):
    """Does not release between attempts, each of which has a new token."""

    def undo(self, key):
        del self.holds[key]

    def pause(self):
        time.sleep(0.05)


class Overwrites(client.Node):
    def set(self, key, token, ttl_ms):
        return bool(self.redis.set(key, token, px=ttl_ms))


class ExtendsLate(client.Redlock):
    def extend(self, key, ttl_ms):
        token, _, over_s = self.holds[key]
        self.holds[key] = (token, client.now_s() + 60, over_s)
        return super().extend(key, ttl_ms)


def prefixed(self, key, ttl_ms, tries):
    left_ms = client.Redlock.acquire(self, "lock:" + key, ttl_ms, tries)
    self.holds[key] = self.holds.get("lock:" + key, (self.token(), 0, 0))
    return left_ms


class AllNeeded(client.Redlock):
    def __init__(self, urls):
        super().__init__(urls)
        self.quorum = len(urls)


class TwoNeeded(client.Redlock):
    def __init__(self, urls):
        super().__init__(urls)
        self.quorum = 2


class ReleasesOnce(client.Node):
    """Forgets a release that is not answered, and never sends it to a node that hung."""

    def release(self, key, token, over_s):
        return False if client.now_s() - getattr(self, "hung_s", -9) < 2 else \
            self.attempt(lambda node: node.delete(key, token))

    def attempt(self, task):
        done = client.Node.attempt(self, task)
        if done is None:
            self.hung_s = client.now_s()
        return done


BROKEN = {
    "grant": of_lock(ask=first_three),
    "release": of_lock(release=forget),
    "key": of_lock(acquire=prefixed),
    "ttl": of_node(set=lambda self, key, token, ttl_ms: self.redis.set(
        key, token, nx=True, ex=ttl_ms // 1000 + 1) is True),
    "atomic": of_node(set=set_then_expire),
    "held": lambda urls: client.Redlock(urls, Overwrites),
    "one-down": AllNeeded,
    "two-down": AllNeeded,
    "three-down": TwoNeeded,
    "minority-held": of_node(delete=blind_delete),
    "majority-held": of_lock(undo=forget),
    "lost-vote": of_node(set=only_where_granted, release=release_where_granted),
    "lost-vote-held": of_node(set=only_where_granted, release=release_where_granted),
    "duplicates": of_node(set=own_is_yes),
    "at-once": of_lock(ask=one_by_one),
    "token": OneToken,
    "fresh-token": TokenForEach,
    "between-tries": StandsInTheWay,
    "tries": of_lock(acquire=eager),
    "pauses": of_lock(pause=lambda self: time.sleep(0.1)),
    "drift": of_lock(valid_until_s=lambda self, sent_s, ttl_ms: sent_s + ttl_ms / 1000),
    "slow-votes": CountsFromAnswers,
    "too-late": Late,
    "stopped-client": CountsFromAnswers,
    "silent": WaitsForAll,
    "three-silent": of_lock(undo=forget),
    "late-answers": LateCounts,
    "asleep": lambda urls: client.Redlock(urls, ReleasesOnce),
    "slow-release": of_node(delete=lambda self, key, token: True),
    "extend": of_node(extend=lambda self, key, token, ttl_ms: True),
    "extend-late": CountsFromAnswers,
    "extend-shorter": of_node(extend=cut_short),
    "extend-other": of_node(extend=expire_any),
    "extend-atomic": of_node(extend=get_then_expire),
    "extend-minority": Gives,
    "extend-gone": type("Again", (ExtendsLate,), {
        "__init__": lambda self, urls: client.Redlock.__init__(
            self, urls, type("AgainNode", (client.Node,), {"extend": set_again}))}),
    "release-other": of_node(delete=blind_delete),
    "release-atomic": of_node(delete=get_then_delete),
    "noscript": lambda urls: client.Redlock(urls, ByHashAlone),
    "restart": AllNeeded,
    "loading": of_node(attempt=errors_are_yes),
    "readonly": of_node(attempt=errors_are_yes),
    "oom": of_node(attempt=errors_are_yes),
    "noauth": of_node(attempt=errors_are_yes),
    "noperm": of_node(attempt=errors_are_yes),
    "misconf": of_node(attempt=errors_are_yes),
    "fragments": lambda urls: client.Redlock(urls, Raw),
    "cut": lambda urls: client.Redlock(urls, RawHalf),
    "reconnect": lambda urls: client.Redlock(urls, NeverReconnects),
    "two-keys": of_node(delete=lambda self, key, token: self.redis.flushall() is True),
    "two-clients": AlwaysGranted,
    "contend": lambda urls: client.Redlock(urls, Overwrites),
    "readers": lambda urls: client.Redlock(urls, Overwrites),
    "reserved": lambda urls: client.Redlock(urls, Overwrites),
    # Rules that the example does not implement.
    "guard": client.Redlock,
    "fence": client.Redlock,
    "line": client.Redlock,
}

# More clients, by name: conform_test.sh says what the stories find.
OTHERS = {
    "seconds-by-script": by_script("redis.call('expire', KEYS[1], math.ceil(ARGV[2] / 1000))"),
    "for-ever-by-script": by_script(""),
    "read-twice": of_node(extend=read_then_extend),
    "until-needed": of_lock(ask=until_needed),
}

if __name__ == "__main__":
    client.main(OTHERS[sys.argv[1]] if len(sys.argv) > 1 else
                BROKEN[os.environ["REDLOCK_CONFORM_STORY"]])
