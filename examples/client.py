#!/usr/bin/python3
"""A Redlock client in Python, on redis-py, that keeps the rules of docs/protocol.md.

It is here to be read beside that page, and tried: it excludes libredlock's locks of the same keys on
the same nodes, and is excluded by them. It has no guard, no fence, and does not stand in line.

    redlock conform -- python3 examples/client.py

From its standard input it takes requests, one a line, and answers each with a line:

    acquire KEY TTL_MS TRIES   granted TOKEN VALIDITY_MS   or refused WHY
    extend KEY TTL_MS          extended VALIDITY_MS        or failed WHY
    release KEY                released                    or failed WHY

Its nodes are those of REDLOCK_NODES, URLs with commas between. Needs redis-py (python3-redis).
"""

import os
import queue
import random
import secrets
import sys
import threading
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

NODE_TIMEOUT_S = 0.25  # how long a node may take to answer
CONNECT_TIMEOUT_S = 0.5
PAUSE_S = (0.05, 0.15)  # between attempts

RELEASE = """
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0
"""

# Never shortens (E2), and writes in any case, so that only a node that may write says yes.
EXTEND = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[2]))
return 1
"""


def now_s():
    """A clock that cannot be set, and goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Node(threading.Thread):
    """One node, its connection, and a thread that sends one command after the other.

    So a release runs behind the SET that it undoes (R3), and a node that is slow keeps no other
    node waiting (A4). A release is repeated until the node has answered it, or the ttl is over. If
    the SET was not answered, and so its connection is gone, it may run behind the release: then
    only an answer counts that says that the key was there."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.redis = redis.Redis.from_url(
            url, decode_responses=True, max_connections=1, socket_timeout=NODE_TIMEOUT_S,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0))  # a SET that is sent twice refuses itself
        self.tasks = queue.Queue()
        self.unreleased = []  # (key, token, when its ttl is over)
        self.unanswered = set()  # tokens of SETs
        self.busy_since_s = None
        self.scripts = {text: self.redis.register_script(text) for text in (RELEASE, EXTEND)}
        self.start()

    def hangs(self):
        since_s = self.busy_since_s
        return since_s is not None and now_s() - since_s > NODE_TIMEOUT_S / 2

    def run(self):
        while True:
            try:
                task, answers = self.tasks.get(timeout=0.1 if self.unreleased else None)
            except queue.Empty:
                self.repeat_releases()
                continue
            self.busy_since_s = now_s()
            answers.put(self.attempt(task))
            self.busy_since_s = None

    def attempt(self, task):
        """True and False are the node's word; None: it has not said anything that counts (A5)."""
        try:
            return task(self)
        except redis.RedisError:
            return None

    def repeat_releases(self):
        key, token, over_s = self.unreleased.pop(0)
        if now_s() < over_s:
            self.release(key, token, over_s)
        else:
            self.unanswered.discard(token)

    # What is sent. To NOSCRIPT register_script() answers with SCRIPT LOAD, and asks again (W1).

    def set(self, key, token, ttl_ms):
        self.unanswered.add(token)
        granted = self.redis.set(key, token, nx=True, px=ttl_ms) is True
        self.unanswered.discard(token)
        return granted

    def extend(self, key, token, ttl_ms):
        return self.scripts[EXTEND](keys=[key], args=[token, ttl_ms]) == 1

    def delete(self, key, token):
        return self.scripts[RELEASE](keys=[key], args=[token]) == 1

    def release(self, key, token, over_s):
        done = self.attempt(lambda node: node.delete(key, token))
        if done is None or (token in self.unanswered and not done):
            self.unreleased.append((key, token, over_s))
        else:
            self.unanswered.discard(token)
        return done


class Redlock:
    def __init__(self, urls, make_node=Node):
        self.nodes = [make_node(url) for url in urls]
        self.quorum = len(self.nodes) // 2 + 1
        self.holds = {}  # key: (token, valid until, when no key of it is left)

    def ask(self, task, nodes, needed):
        """Asks all of the nodes at once. Returns how many said yes, and how many anything at all: as
        soon as `needed` yeses are there, or cannot come any more; needed None: when all have."""
        answers = queue.Queue()  # of this round: what comes later is nobody's
        end_s = now_s() + NODE_TIMEOUT_S + CONNECT_TIMEOUT_S
        for node in nodes:
            node.tasks.put((task, answers))
        said = []
        while len(said) < len(nodes) and (needed is None or sum(map(bool, said)) < needed <=
                                          len(nodes) - sum(not yes for yes in said)):
            try:
                said.append(answers.get(timeout=max(0, end_s - now_s())))
            except queue.Empty:
                break
        return sum(map(bool, said)), sum(yes is not None for yes in said)

    def token(self):
        return secrets.token_hex(20)

    def pause(self):
        time.sleep(random.uniform(*PAUSE_S))

    def valid_until_s(self, sent_s, ttl_ms):
        """From the sending on, less the allowance for clocks that do not run alike (A7)."""
        return sent_s + (ttl_ms - ttl_ms * 0.01 - 2) / 1000

    def grants(self, yes):
        return yes >= self.quorum

    def acquire(self, key, ttl_ms, tries):
        """How many ms the lock is valid, or None."""
        for attempt in range(tries):
            if attempt > 0:
                self.pause()
            token, sent_s = self.token(), now_s()
            nodes = [node for node in self.nodes if not node.hangs()]
            yes, _ = self.ask(lambda node: node.set(key, token, ttl_ms), nodes, self.quorum)
            over_s = now_s() + ttl_ms / 1000
            self.holds[key] = (token, self.valid_until_s(sent_s, ttl_ms), over_s)
            left_ms = self.left_ms(key)
            if self.grants(yes) and left_ms > 0:
                return left_ms
            self.undo(key)
        return None

    def left_ms(self, key):
        return int((self.holds[key][1] - now_s()) * 1000)

    def undo(self, key):
        """An attempt that was not granted is released on all nodes; the answers may come later."""
        token, _, over_s = self.holds.pop(key)
        self.ask(lambda node: node.release(key, token, over_s), self.nodes, 0)

    def extend(self, key, ttl_ms):
        """How many ms the lock is valid, or None: it is not, or not known to be, extended."""
        token, valid_until_s, over_s = self.holds.get(key, ("", 0, 0))
        sent_s = now_s()
        if sent_s >= valid_until_s:
            return None
        yes, _ = self.ask(lambda node: node.extend(key, token, ttl_ms), self.nodes, self.quorum)
        over_s = max(over_s, now_s() + ttl_ms / 1000)
        if not self.grants(yes):
            self.holds[key] = (token, valid_until_s, over_s)
            return None
        self.holds[key] = (token, self.valid_until_s(sent_s, ttl_ms), over_s)
        left_ms = self.left_ms(key)
        return left_ms if left_ms > 0 else None

    def release(self, key):
        """Whether a quorum has answered; the others are told again."""
        token, _, over_s = self.holds.pop(key, (None, 0, 0))
        if token is None:
            return False
        _, answered = self.ask(lambda node: node.release(key, token, over_s), self.nodes,
                               None)
        return answered >= self.quorum


def answer(lock, request, key, ttl_ms=0, tries=1):
    if request == "release":
        return "released" if lock.release(key) else "failed no quorum has answered"
    if request == "extend":
        left_ms = lock.extend(key, int(ttl_ms))
        return f"extended {left_ms}" if left_ms else "failed"
    left_ms = lock.acquire(key, int(ttl_ms), int(tries))
    return f"granted {lock.holds[key][0]} {left_ms}" if left_ms else "refused"


def main(make_lock=Redlock):
    urls = os.environ.get("REDLOCK_NODES", "").split(",")
    if urls == [""]:
        sys.exit("client.py: set REDLOCK_NODES to the URLs of the nodes, with commas between")
    lock = make_lock(urls)
    print("ready", flush=True)
    for line in sys.stdin:
        print(answer(lock, *line.split()), flush=True)


if __name__ == "__main__":
    main()
