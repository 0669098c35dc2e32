"""The common part of the clients for threads and asyncio: everything but waiting.

A client has a loop of the library (glue.h). Everything here runs on that loop's thread, except the
constructors and the getters. An operation is a function begin(done): it submits, and done(error) is
called once, later, when it has ended. It returns a function that gives it up.

Can a lock stay locked that nobody knows of? No: an acquire has its own lock object of the library,
a _Hold, which this Lock's next acquire reuses only after a successful release. Whatever interrupts
the caller (KeyboardInterrupt, the cancellation of a task) drops that: the library cancels the
acquire, or releases what was granted meanwhile. The same is done if the Lock is collected while it
is held. Can a late interruption drop the next acquire? No: it names its own, give_up().

Can a lock of the library be used after the client has freed it, when it is closed? No: events are
read after the turn, so _dispatch() first checks whether the client's end is among them.

Can an item be freed that the library still uses? No: the client keeps each item until its pending
operations have been reported, also if its lock was freed before.
"""

from __future__ import annotations

import os
import random
import sys
import time
import warnings
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Generic, TypeVar

from ._native import ffi, lib
from .errors import (AlreadyHeldError, BusyError, CanceledError, ClosedError, DeadlineError, Error, ExpiredError, ForkedError,
                     HeldError, InvalidError, NoQuorumError, NotHeldError, _CLASSES, error_of)

Done = Callable[["Error | None"], None]
Begin = Callable[[Done], Callable[[], None]]
Answer = TypeVar("Answer")

_process = object()  # replaced in each child: asking for the process id is a system call


def _in_child() -> None:
    global _process
    _process = object()


os.register_at_fork(after_in_child=_in_child)

_GUARDS = {"off": 0, "observed": 1, "strict": 2}
_NO_LIMIT = lib.REDLOCK_NO_LIMIT
_DONE, _BITS = lib.PY_DONE, lib.PY_BITS
_WORDS = 256
_ITEM = ffi.typeof("struct py_item *")


def nothing() -> None:
    """Gives up an operation that needs no undoing."""


@contextmanager
def leaving(error: BaseException | None) -> Iterator[None]:
    """Around the release at the end of a with block: the block's exception takes precedence over
    the release's, and a release that too few nodes have answered is retried by the library."""
    try:
        yield
    except NoQuorumError:
        pass
    except Error:
        if error is None:
            raise


def ms(seconds: float | None) -> int:
    """None is no limit. A value that is not 0 is not rounded to 0, and one below 0, which the library
    refuses, not to -1, no limit."""
    if seconds is None:
        return int(_NO_LIMIT)
    if not abs(seconds) < 1e12:
        raise InvalidError(f"{seconds} is no time in seconds")
    if seconds < 0:
        return min(-2, round(seconds * 1000))
    return 1 if 0 < seconds < 0.001 else round(seconds * 1000)


def message_of(function: Any, pointer: Any) -> str:
    buffer = ffi.new("char[]", lib.REDLOCK_MESSAGE_MAX)
    return str(ffi.string(function(pointer, buffer, len(buffer))).decode(errors="replace"))


def text_of(text: str) -> Any:
    if "\0" in text:
        raise InvalidError("a zero byte in an option or a URL, which would end there")
    return ffi.new("char[]", text.encode())


def options_of(kind: str, **fields: Any) -> tuple[Any, list[Any]]:
    """A struct of options with its defaults and the fields that are not None; and the objects to
    which it points, which must live as long."""
    options = ffi.new(f"{kind} *")
    getattr(lib, f"{kind}_init")(options, ffi.sizeof(kind))
    kept = []
    for name, value in fields.items():
        if isinstance(value, str):
            value = text_of(value)
            kept.append(value)
        if value is not None:
            setattr(options, name, value)
    return options, kept


async def any_of(locks: Sequence[AnyLock], timeout: float | None, attempt: Callable[[AnyLock], Awaitable[None]],
                 pause: Callable[[float], Awaitable[None]]) -> AnyLock:
    """Acquires one of them and returns it; `attempt` tries a lock once.

    A round ends when the nodes fail: the next lock would wait for the same nodes. Locks in use
    elsewhere are skipped."""
    if not locks:
        raise InvalidError("there is no lock in the list")
    if ms(timeout) < _NO_LIMIT:
        raise InvalidError(f"timeout is {timeout}: it must be 0 or more, or None")
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        why: Error | None = None
        for lock in random.sample(locks, len(locks)):
            try:
                await attempt(lock)
                return lock
            except (BusyError, AlreadyHeldError) as error:
                why = why or error
            except HeldError as error:
                why = error
            except Error as error:
                why = error
                break
        assert why is not None
        if timeout == 0 or not isinstance(why, (HeldError, NoQuorumError, ExpiredError)):
            raise why
        if end is not None and time.monotonic() >= end:
            late = DeadlineError(str(why))
            late.attempt = type(why)
            raise late
        await pause(random.uniform(0.05, 0.15))


class _Item:
    """The events of the library and their statuses: see glue.h. on_done: the pending operation's
    callback, if any."""

    __slots__ = ("client", "c", "id", "on_done")

    def __init__(self, client: ClientBase[Any, Any]) -> None:
        self.client = client
        client._ids = self.id = client._ids + 1
        client._items[self.id] = self
        self.c = ffi.new(_ITEM)
        self.c.id = self.id
        self.c.loop = client._loop
        self.on_done: Callable[[int], None] | None = None

    def on_events(self, events: int) -> None:
        if events & _DONE:
            on_done, self.on_done = self.on_done, None
            assert on_done is not None
            on_done(self.c.done)

    def is_idle(self) -> bool:
        return self.on_done is None

    def forget(self) -> None:
        """It is over: the item is kept as long as anything is pending. The library's object was freed before,
        or with its client."""
        if self.is_idle():
            self.client._items.pop(self.id, None)


class _Hold(_Item):
    """A lock of the library. It has only a weak reference to its Lock."""

    __slots__ = ("owner", "resource", "lock", "on_extended", "slots", "acquires", "is_granted")

    def __init__(self, owner: LockBase) -> None:
        super().__init__(owner._client)
        self.owner = weakref.ref(owner)
        self.resource = owner._title
        self.lock: Any = None
        self.on_extended: Done | None = None
        self.slots: tuple[int, ...] = ()
        self.acquires = 0
        self.is_granted = False  # even after a loss, until the release

    def error(self, status: int, message: str | None = None) -> Error:
        if message is None:
            message = message_of(lib.redlock_lock_message, self.lock) if self.lock else ""
        error = error_of(status, f"{self.resource}: {message}" if message else "")
        if isinstance(error, DeadlineError) and self.lock:
            error.attempt = _CLASSES.get(lib.redlock_lock_attempt_status(self.lock))
        return error

    def give_up(self, acquire: int) -> None:
        if self.acquires == acquire:
            self.drop()

    def drop(self) -> None:
        """Cancels what is pending and releases what is held, in the background."""
        if self.lock is not None:
            lib.py_free(self.lock, self.c)
        self.forget()

    def forget(self) -> None:
        self.lock = None
        owner = self.owner()
        if owner is not None and owner._hold is self:
            owner._hold = None
        super().forget()

    def on_events(self, events: int) -> None:
        was_dropped = self.lock is None
        if events != _DONE:
            if events & lib.PY_LOST and not was_dropped:
                owner = self.owner()
                if owner is not None:
                    owner._on_loss(self.error(self.c.lost))
            if events & lib.PY_EXTENDED:
                on_extended, self.on_extended = self.on_extended, None
                assert on_extended is not None
                on_extended(self.error(self.c.extended) if self.c.extended else None)
        super().on_events(events)
        if was_dropped:
            self.forget()

    def is_idle(self) -> bool:
        return self.on_done is None and self.on_extended is None


class LockBase:
    """One holder of a lock, a reader's lock, or permits of a semaphore. It can be acquired and released
    any number of times; a task or thread that locks beside another one has an object of its own. It
    is made by a client's lock()."""

    def __init__(self, client: ClientBase[Any, Any], resources: tuple[str | bytes, ...], lost: Any, timeout: float | None,
                 ttl: float, renew: bool, max_hold: float | None, max_silence: float | None, linger: float, fencing: bool,
                 shared: bool, permits: int, take: int, holder: str | None, owner: int, on_lost: Callable[[Any], object] | None) -> None:
        self._client = client
        self._hold: _Hold | None = None
        self._spare: _Hold | None = None  # for the next acquire, after a release that succeeded
        #: What it locks.
        self.resources = resources
        self._title = ", ".join(one if isinstance(one, str) else repr(one) for one in resources)
        self._on_lost = on_lost
        self._timeout = timeout
        #: Is set when the hold is lost, before its validity ends; cleared by the next acquire.
        self.lost = lost
        #: After a loss: the exception that says why. None before.
        self.lost_error: Error | None = None
        names = [ffi.from_buffer(one.encode() if isinstance(one, str) else one) for one in resources]
        array = ffi.new("redlock_bytes[]", [(name, len(name)) for name in names])
        self._lock_options, self._kept = options_of("redlock_lock_options", resources=array, n_resources=len(names),
                                                    holder=holder, mode=int(shared), permits=permits,
                                                    take=take)
        self._kept += [names, array]
        self._take = take if permits else 0
        self._wait: tuple[float | None, int | None] | None = None  # the options' values for it
        self._options, _ = options_of("redlock_acquire_options", ttl_ms=ms(ttl), max_hold_ms=ms(max_hold),
                                      max_silence_ms=ms(max_silence or 0), linger_ms=ms(linger), auto_extend=int(renew),
                                      fencing=int(fencing), owner=owner)

    # -- Operations --

    def _acquire(self, timeout: float | None, tries: int | None) -> Begin:
        return partial(self._begin, (timeout, tries))

    def _begin(self, wait: tuple[float | None, int | None], done: Done) -> Callable[[], None]:
        if self._hold is not None:
            state = BusyError if self._hold.on_done is not None else AlreadyHeldError
            raise state(f"{self._title}: {state.__doc__}")
        if self.lost_error is not None:
            self.lost_error = None
            self.lost.clear()
        if wait != self._wait:
            self._set_wait(*wait)
            self._wait = wait
        spare = self._spare
        hold = (spare if spare is not None and spare.lock is not None and spare.on_extended is None
                and lib.py_acquire_again(spare.lock, self._options, spare.c) == 0 else self._new_hold())
        self._hold, self._spare = hold, hold

        def on_done(status: int) -> None:
            if status == 0 and hold.lock is not None:
                hold.is_granted = True
                if self._take:
                    hold.slots = tuple(lib.redlock_lock_slot(hold.lock, i) for i in range(self._take))
                done(None)
            else:  # it was dropped, or freed with the client
                error = hold.error(status or CanceledError.statuses[0])
                hold.drop()
                done(error)

        hold.on_done = on_done
        hold.acquires += 1
        return partial(hold.give_up, hold.acquires)

    def _new_hold(self) -> _Hold:
        client, hold = self._client, _Hold(self)
        status, hold.lock, message = client._make(lib.py_acquire, client._made, self._lock_options, self._options, hold.c)
        if status != 0:
            hold.forget()
            raise hold.error(status, message)
        return hold

    def _set_wait(self, timeout: float | None, tries: int | None) -> None:
        """Without a wait it is one attempt, whose error says why it failed."""
        wait_s = self._timeout if timeout is None else timeout
        wait_ms = ms(wait_s)
        self._options.tries = _NO_LIMIT if tries is None else max(0, tries)  # -1 would be no limit
        self._options.wait_ms = wait_ms
        if wait_s == 0:
            self._options.tries, self._options.wait_ms = 1, _NO_LIMIT

    def _release(self, done: Done) -> Callable[[], None]:
        hold = self._held()
        if hold.on_done is not None:
            raise BusyError(f"{self._title}: {BusyError.__doc__}")
        status = lib.py_release(hold.lock, hold.c)
        if status != 0:
            raise hold.error(status)

        def on_done(status: int) -> None:
            if status == 0:
                hold.is_granted = False
                self._hold = None
                done(None)
                return
            error = self.lost_error or hold.error(status)
            hold.drop()
            done(error)

        hold.on_done = on_done
        return nothing

    def _prolong(self, function: Callable[..., int], *arguments: int) -> Begin:
        def begin(done: Done) -> Callable[[], None]:
            hold = self._held()
            status = function(hold.lock, *arguments, hold.c)
            if status != 0:
                raise self.lost_error or hold.error(status)
            hold.on_extended = done
            return nothing

        return begin

    def _held(self) -> _Hold:
        hold = self._hold
        if hold is None or hold.lock is None:
            raise NotHeldError(f"{self._title}: {NotHeldError.__doc__}")
        return hold

    def _alive(self) -> None:
        hold = self._held()
        status = lib.redlock_lock_alive(hold.lock)
        if status != 0:
            raise self.lost_error or hold.error(status)

    def _on_loss(self, error: Error) -> None:
        self.lost_error = error
        self.lost.set()
        if self._on_lost is not None:
            self._client._run(self._on_lost, self)

    def __del__(self) -> None:
        hold = getattr(self, "_spare", None)
        if hold is None or self._client._is_over():
            return
        if self._hold is None:
            self._client._unused.append(hold)
        else:
            self._client._later(hold.drop)
            warnings.warn(f"{self._title}: was held and not released, and is now", ResourceWarning, source=self)

    # -- Getters: any thread --

    def is_valid(self) -> bool:
        """Is it held, and has its validity not ended by the clock now? Ask before each step that must not
        be done twice. It never waits."""
        hold = self._hold
        return hold is not None and bool(lib.py_is_valid(hold.c)) and not self._client._is_over()

    @property
    def remaining(self) -> float:
        """How many seconds of validity are left now; 0 if it is not held."""
        hold = self._hold
        left_ns: int = 0 if hold is None or self._client._is_over() else lib.py_left_ns(hold.c)
        return left_ns / 1e9

    @property
    def fence(self) -> int | None:
        """With `fencing`: a number that is larger than those of all fenced grants before. None if it is not
        held. It stays after a loss, until the release."""
        hold = self._hold
        fence: int = lib.py_fence(hold.c) if hold and hold.is_granted else 0
        return fence or None

    @property
    def token(self) -> str:
        """What the nodes have under the key; "" if it is not held. A party that knows it can release."""
        hold = self._hold
        return str(ffi.string(hold.c.token).decode()) if hold and hold.is_granted else ""

    @property
    def slots(self) -> tuple[int, ...]:
        """The numbers of the permits that it has of a semaphore."""
        hold = self._hold
        return hold.slots if hold and hold.is_granted else ()


class ElectionBase:
    """A candidate. It campaigns from the beginning of its `with` block to its end, again after each loss.
    It is made by a client's `election()`."""

    def __init__(self, client: ClientBase[Any, Any], name: str | bytes, elected: Any, lost: Any, candidate: str | None = None,
                 ttl: float = 10.0, poll: float = 0.5, fencing: bool = False, max_silence: float | None = None,
                 on_leader: Callable[[str | None], object] | None = None) -> None:
        self._client = client
        self._title = name if isinstance(name, str) else repr(name)
        self._name = name.encode() if isinstance(name, str) else name
        self._on_leader = on_leader
        self._campaign: _Campaign | None = None
        self._options, self._kept = options_of("redlock_election_options", name=ffi.from_buffer(self._name),
                                               name_length=len(self._name), candidate=candidate, ttl_ms=ms(ttl),
                                               poll_ms=ms(poll), fencing=int(fencing), max_silence_ms=ms(max_silence or 0))
        #: Is set while it leads.
        self.elected = elected
        #: Is set when a leadership is lost, before its validity ends; cleared by the next one.
        self.lost = lost

    def _begin(self, done: Done) -> Callable[[], None]:
        if self._campaign is not None:
            raise BusyError(f"{self._title}: {BusyError.__doc__}")
        campaign = _Campaign(self)
        status, campaign.election, message = self._client._make(lib.py_election, ffi.new("redlock_election **"),
                                                                self._options, int(self._on_leader is not None), campaign.c)
        if status == 0:
            status = lib.redlock_election_campaign(campaign.election)
        if status != 0:
            campaign.drop()
            raise error_of(status, f"{self._title}: {message}" if message else "")
        self._campaign = campaign
        self.lost.clear()
        done(None)
        return campaign.drop

    def _until_elected(self, done: Done) -> Callable[[], None]:
        waiting = self._candidacy().waiting
        if self.elected.is_set():
            done(None)
        else:
            waiting.add(done)
        return partial(waiting.discard, done)

    def _resign(self, done: Done) -> Callable[[], None]:
        campaign = self._candidacy()
        self.elected.clear()
        status = lib.py_resign(campaign.election, campaign.c)
        if status != 0:
            raise error_of(status)

        def on_done(status: int) -> None:
            error = None
            if status != 0 and campaign.election is not None:
                error = error_of(status, message_of(lib.redlock_election_message, campaign.election))
            campaign.drop()
            done(error)

        campaign.on_done = on_done
        return campaign.drop

    def _candidacy(self) -> _Campaign:
        if self._campaign is None:
            raise NotHeldError(f"{self._title}: it is no candidate")
        return self._campaign

    def _alive(self) -> None:
        status = lib.redlock_election_alive(self._candidacy().election)
        if status != 0:
            raise error_of(status, f"{self._title}: it does not lead" if status == NotHeldError.statuses[0] else "")

    # -- Getters: any thread; with asyncio that of the event loop --

    def is_leader(self) -> bool:
        """Does it lead, by the clock now? Ask right before each action of the leader."""
        return self._ask()[0]

    @property
    def fence(self) -> int | None:
        """With `fencing`: a number larger than those of all leaderships before."""
        return self._ask()[1]

    @property
    def leader(self) -> str | None:
        """The name of the candidate that leads, as far as it is known."""
        return self._ask()[2]

    def _ask(self) -> tuple[bool, int | None, str | None]:
        try:
            return self._client._ask(self._state)
        except (ClosedError, ForkedError):
            return False, None, None

    def _state(self) -> tuple[bool, int | None, str | None]:
        """Does it lead; its fence; who leads."""
        if self._campaign is None:
            return False, None, None
        election = self._campaign.election
        leader = lib.redlock_election_leader(election)
        return (bool(lib.redlock_election_is_leader(election)), lib.redlock_election_fence(election) or None,
                ffi.string(leader).decode() if leader else None)


class _Campaign(_Item):
    def __init__(self, owner: ElectionBase) -> None:
        super().__init__(owner._client)
        self.owner = owner
        self.election: Any = None
        self.waiting: set[Done] = set()

    def on_events(self, events: int) -> None:
        if self.election is not None:
            leads = bool(lib.redlock_election_is_leader(self.election))
            if events & lib.PY_LOST:
                self.owner.elected.clear()
                self.owner.lost.set()
            if events & lib.PY_ELECTED and leads:
                self.owner.lost.clear()
                self.owner.elected.set()
                while self.waiting:
                    self.waiting.pop()(None)
            if events & lib.PY_LEADER and self.owner._on_leader is not None:
                self.client._run(self.owner._on_leader, self.owner._state()[2])
            if events & lib.PY_LOST and lib.redlock_election_state(self.election) == 0:  # idle: it cannot campaign again
                self.drop()
        super().on_events(events)
        if self.election is None:
            self.forget()

    def drop(self) -> None:
        if self.election is not None:
            lib.redlock_election_free(self.election)
        self.forget()

    def forget(self) -> None:
        self.election = None
        if self.owner._campaign is self:
            self.owner.elected.clear()
            self.owner._campaign = None
        while self.waiting:
            self.waiting.pop()(CanceledError(f"{self.owner._title}: the candidacy has ended"))
        super().forget()


AnyLock = TypeVar("AnyLock", bound=LockBase)
AnyElection = TypeVar("AnyElection", bound=ElectionBase)


class ClientBase(Generic[AnyLock, AnyElection]):
    """A client of N nodes, 1 to 31 independent Redis servers: "redis://host:port", "rediss://...",
    "unix:///path". Times are in seconds. include/redlock/redlock.h describes each option, of which None
    is the library's default.

    guard: "strict", "observed" or "off". On nodes that were started a moment ago nothing can be acquired
    with "strict", the default, until max_ttl (30 s) has passed.
    """

    _lock_type: type[AnyLock]
    _election_type: type[AnyElection]
    _event_type: Callable[[], Any]

    def __init__(self, nodes: Iterable[str], *, guard: str = "strict", max_ttl: float | None = None,
                 connect_timeout: float | None = None, node_timeout: float | None = None,
                 lost_margin: float | None = None, drift_ratio: float | None = None, drift: float | None = None,
                 fence_retention: float | None = None, client_name: str | None = None, config_id: str | None = None,
                 tls_ca: str | None = None, tls_cert: str | None = None, tls_key: str | None = None,
                 tls_server_name: str | None = None, tls_insecure_skip_verify: bool = False,
                 metrics: bool = False) -> None:
        if isinstance(nodes, str):
            nodes = nodes.split(",")
        if guard not in _GUARDS:
            raise error_of(-1, f'guard "{guard}": it is one of {", ".join(_GUARDS)}')
        urls = [text_of(url) for url in nodes]
        self._error = ffi.new("char[]", lib.REDLOCK_MESSAGE_MAX)
        times = {"max_ttl": max_ttl, "connect_timeout": connect_timeout, "node_timeout": node_timeout,
                 "lost_margin": lost_margin, "drift": drift, "fence_retention": fence_retention}
        array = ffi.new("char *[]", urls)
        self._options = options_of(
            "redlock_client_options", nodes=array, n_nodes=len(urls), guard=_GUARDS[guard], drift_ratio=drift_ratio,
            client_name=client_name, config_id=config_id, tls_ca=tls_ca, tls_cert=tls_cert, tls_key=tls_key,
            tls_server_name=tls_server_name, tls_insecure_skip_verify=int(tls_insecure_skip_verify), metrics=int(metrics),
            error=self._error, error_size=len(self._error),
            **{f"{name}_ms": ms(time) for name, time in times.items() if time is not None})
        self._kept = (urls, array)
        self._loop = ffi.new("struct py_loop *")
        self._words = ffi.new("uint64_t[]", _WORDS)
        self._made = ffi.new("redlock_lock **")
        self._items: dict[int, _Item] = {}
        self._unused: deque[_Hold] = deque()  # whose Locks were collected
        self._ids = 0
        self._process = _process
        self._client: Any = None
        self._item: _Item | None = None
        self._is_closing = False
        self._last_id = 0  # of the item of its closing
        self._start()

    def _start(self) -> None:
        """The rest of the constructor."""

    def lock(self, *resources: str | bytes, timeout: float | None = None, ttl: float = 10.0, renew: bool = True,
             max_hold: float | None = None, max_silence: float | None = None, linger: float = 0,
             fencing: bool = False, shared: bool = False, permits: int = 0, take: int = 1, holder: str | None = None,
             owner: int = 0, on_lost: Callable[[AnyLock], object] | None = None) -> AnyLock:
        """A lock of one resource, or of all of several at once; nothing is sent.

        timeout: how long a with block waits for it; None: without limit.
        ttl: how long the nodes keep it without renewal.
        renew: it is extended until it is released, for max_hold at most, and no further if nothing has
            called its alive() for max_silence.
        linger: how long the nodes keep it after its release; the object acquires it again without
            asking them, until another client waits (linger_ms of include/redlock/lock.h).
        fencing: each grant has a `fence`.
        shared: a reader's lock. Readers hold side by side, and exclude those that are not.
        permits: of a semaphore, of which it holds `take` at once; `slots` has their numbers.
        holder: a name for operators.
        owner: a number; locks of one owner share a hold.
        on_lost: is called with the lock when it is lost. For threads that is on the client's thread,
            where it must not make calls that wait."""
        return self._lock_type(self, resources, self._event_type(), timeout, ttl, renew, max_hold,
                               max_silence, linger, fencing, shared, permits, take, holder, owner, on_lost)

    def election(self, name: str | bytes, *, candidate: str | None = None, ttl: float = 10.0, poll: float = 0.5,
                 fencing: bool = False, max_silence: float | None = None,
                 on_leader: Callable[[str | None], object] | None = None) -> AnyElection:
        """A candidate, of the name `candidate` (default: host and process). on_leader: is called with the
        name of whoever leads, whenever that changes. max_silence: a leader that has not called alive() for so
        long is not renewed. ttl, poll, fencing: include/redlock/election.h."""
        return self._election_type(self, name, self._event_type(), self._event_type(), candidate=candidate, ttl=ttl,
                                   poll=poll, fencing=fencing, max_silence=max_silence, on_leader=on_leader)

    # -- The loop's thread --

    def _make(self, function: Any, out: Any, *arguments: Any) -> tuple[int, Any, str]:
        """Status, the new object or None, and the error's text."""
        status = function(self._client, *arguments, out, self._error, lib.REDLOCK_MESSAGE_MAX)
        if status == 0:
            return 0, out[0], ""
        return status, None, ffi.string(self._error).decode(errors="replace")

    def _open(self, done: Done) -> Callable[[], None]:
        self._item = item = _Item(self)
        client = ffi.new("redlock_client **")
        status = lib.py_open(client, self._options[0], item.c)
        if status != 0:
            item.forget()
            raise error_of(status, ffi.string(self._error).decode(errors="replace"))
        self._client = client[0]
        # Without a quorum it keeps connecting, and operations report what is wrong.
        item.on_done = lambda status: done(None)
        return nothing

    def _close(self, done: Done) -> Callable[[], None]:
        if self._client is None:  # it was never opened
            done(None)
            return nothing
        self._item = item = _Item(self)
        status = lib.py_close(self._client, item.c)
        if status != 0:
            raise error_of(status)
        self._last_id = item.id

        def on_done(status: int) -> None:
            self._items.clear()
            done(None)

        item.on_done = on_done
        return nothing

    def _dispatch(self) -> None:
        """Reports what the library has noted."""
        words: list[int] = []
        while n := lib.py_loop_take(self._loop, self._words, _WORDS):
            words += ffi.unpack(self._words, n)
        if self._last_id and any(word >> _BITS == self._last_id for word in words):
            self._client = None
            for one in list(self._items.values()):
                one.forget()
        while self._unused:
            self._unused.popleft().drop()
        for word in words:
            item = self._items.get(word >> _BITS)
            if item is not None:
                item.on_events(word & (1 << _BITS) - 1)

    def _run(self, function: Callable[[Any], object], argument: Any) -> None:
        """Calls the user's code, whose exceptions are reported and otherwise ignored."""
        try:
            function(argument)
        except BaseException:
            with suppress(BaseException):  # else the thread would end, and with it each call wait for ever
                sys.excepthook(*sys.exc_info())

    # -- Any thread --

    def message(self) -> str:
        """What is wrong with the nodes now: "4 of 5 nodes up; ..."."""
        return self._ask(lambda: message_of(lib.redlock_client_message, self._client))

    def metrics(self) -> str:
        """Its metrics for Prometheus; include/redlock/metrics.h."""
        return self._ask(self._metrics)

    def _metrics(self) -> str:
        size = lib.redlock_metrics_format(self._client, 0, ffi.NULL, 0) + 1024
        buffer = ffi.new("char[]", size)
        lib.redlock_metrics_format(self._client, 0, buffer, size)
        return str(ffi.string(buffer).decode())

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        """Calls it on the loop's thread and returns its result. Raises ClosedError or
        ForkedError."""
        raise NotImplementedError

    def _is_over(self) -> bool:
        return self._is_closing or self._client is None or self._process is not _process

    def _check(self) -> None:
        if self._process is not _process:
            raise ForkedError
        if self._is_closing or self._client is None:
            raise ClosedError

    def _later(self, function: Callable[[], None]) -> None:
        """Calls it on the loop's thread, from any thread, without waiting."""
        raise NotImplementedError
