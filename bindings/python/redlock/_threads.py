"""The client for programs with threads. Its loop has a thread of its own, which waits in the library
without the GIL; a call hands its operation to that thread and waits.

Can a call wait for a thread that has ended? No: the thread runs everything that was handed to it
before it ends; later calls run in the caller, and find the client closed.

Ctrl-C: a waiting call waits for a lock of Python's, which a signal interrupts; then it gives its
operation up. That happens on the loop's thread, after anything granted meanwhile.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

from ._core import Answer, Begin, ClientBase, Done, ElectionBase, LockBase, any_of, leaving, ms, nothing
from ._native import lib
from .errors import DeadlineError, Error, SystemFailureError, WrongThreadError

AnyClient = TypeVar("AnyClient", bound="Client")
AnyLock = TypeVar("AnyLock", bound="Lock")
AnyElection = TypeVar("AnyElection", bound="Election")


class _Waiting:
    """A call that waits, and how it ended."""

    __slots__ = ("_ended", "error", "give_up")

    def __init__(self) -> None:
        self._ended = threading.Lock()
        self._ended.acquire()
        self.error: BaseException | None = None
        self.give_up: Callable[[], None] = nothing

    def begin(self, begin: Begin) -> None:
        try:
            self.give_up = begin(self.end)
        except BaseException as error:
            self.end(error)

    def end(self, error: BaseException | None) -> None:
        self.error = error
        self._ended.release()

    def wait(self, timeout: float | None) -> bool:
        return self._ended.acquire(timeout=-1 if timeout is None else max(0, timeout))


class Lock(LockBase):
    """A lock that a thread acquires and any thread releases:

        with client.lock("orders", fencing=True) as lock:
            work(lock.fence)

    `lost` is a threading.Event. A with block ends with LostError if the lock was lost in it and the
    block itself raised nothing; that too few nodes answered the release is no error there.
    """

    _client: Client
    lost: threading.Event

    def acquire(self, timeout: float | None = None, *, tries: int | None = None) -> None:
        """Waits until it is held, for up to `timeout` seconds (None: the lock's own timeout; 0: one
        attempt) or `tries` attempts. Raises a NotAcquiredError, or another Error; then nothing is held."""
        self._client._call(self._acquire(timeout, tries))

    def release(self) -> None:
        """Raises LostError if it had been lost, NoQuorumError if too few nodes have answered: the release
        is then retried in the background."""
        self._client._call(self._release)

    def extend(self, ttl: float = 0) -> None:
        """Extends it to `ttl` seconds from now (0: its own ttl). Raises UnknownError if too few nodes
        answered: validity is what it was."""
        self._client._call(self._prolong(lib.py_extend, ms(ttl)))

    def alive(self) -> None:
        """A sign of life, see max_silence: call it where the work makes progress. Raises the LostError if the
        lock was lost."""
        self._client._ask(self._alive)

    def upgrade(self) -> None:
        """Makes a reader's hold exclusive if nobody else reads. It tries once: HeldError, also right after
        another's release, WouldDeadlockError and UnknownError leave it a reader's."""
        self._client._call(self._prolong(lib.py_upgrade))

    def downgrade(self) -> None:
        """Makes an exclusive hold a reader's, without a gap."""
        self._client._call(self._prolong(lib.py_downgrade))

    def __enter__(self: AnyLock) -> AnyLock:
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with leaving(error):
            self.release()


class Election(ElectionBase):
    """A candidate; it campaigns within its with block:

        with client.election("scheduler") as election:
            election.wait()
            while election.is_leader():
                work()

    `elected` and `lost` are threading.Events.
    """

    _client: Client
    elected: threading.Event
    lost: threading.Event

    def wait(self, timeout: float | None = None) -> None:
        """Waits until it leads. Raises DeadlineError, CanceledError if the candidacy ends before, and NotHeldError
        if there is none."""
        self._client._check()
        if self.elected.is_set():
            return
        try:
            self._client._call(self._until_elected, timeout)
        except DeadlineError:
            raise DeadlineError(f"{self._title}: not elected in time") from None

    def campaign(self) -> None:
        """Becomes a candidate, until resign(). It does not wait to be elected."""
        self._client._call(self._begin)

    def alive(self) -> None:
        """A sign of life of the leader's work, see max_silence. Raises NotHeldError if it does not lead."""
        self._client._ask(self._alive)

    def resign(self) -> None:
        """Ends the candidacy, and the leadership. Raises LostError if the leadership had been lost."""
        self._client._call(self._resign)

    def __enter__(self: AnyElection) -> AnyElection:
        self.campaign()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with leaving(error):
            self.resign()


class Client(ClientBase[Lock, Election]):
    __doc__ = (ClientBase.__doc__ or "") + """
    It is open when the constructor returns, which waits for the nodes for connect_timeout (1 s) at most,
    and must be closed, by close() or as a context manager; the end of the program closes it, too. Threads
    may share it. After fork() the child opens its own: there all calls raise ForkedError.
    """

    _lock_type = Lock
    _election_type = Election
    _event_type = threading.Event

    def _start(self) -> None:
        self._commands: deque[Callable[[], None]] = deque()
        self._gate = threading.RLock()  # for the next field; a collection may enter again in the same thread
        self._ended = False
        if lib.py_loop_open(self._loop) != 0:
            raise SystemFailureError("the loop cannot be opened: are there descriptors left?")
        self._thread = threading.Thread(target=self._work, name="redlock", daemon=True)
        self._thread.start()
        try:
            self._wait(self._open)
        except BaseException:  # after Ctrl-C it may be open
            self._wait(self._close)
            self._shut()
            raise
        atexit.register(self.close)

    def close(self) -> None:
        """Closes it: waiting calls end with CanceledError, what is held is released. In a child, after
        fork(), nothing is done."""
        if self._is_over():
            return  # in a child the gate may be locked for ever
        self._check_thread()
        with self._gate:
            if self._is_closing:
                return
            self._is_closing = True
        self._wait(self._close)
        self._shut()
        atexit.unregister(self.close)

    def acquire_any(self, locks: Sequence[Lock], timeout: float | None = None) -> Lock:
        """Acquires one of these locks, whichever is free, and returns it: for workers that take any job.
        They are tried in a random order, again and again for up to `timeout` seconds (None: without limit;
        0: once). Locks of the list that are held are left out. Raises as Lock.acquire()."""
        async def attempt(lock: Lock) -> None:
            lock.acquire(0)

        async def pause(seconds: float) -> None:
            time.sleep(seconds)

        try:
            any_of(locks, timeout, attempt, pause).send(None)  # awaits nothing, so it runs to its end
        except StopIteration as stop:
            lock: Lock = stop.value
            return lock
        raise AssertionError("any_of() has awaited something")

    def __enter__(self: AnyClient) -> AnyClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        answers: list[Answer] = []

        def begin(done: Done) -> Callable[[], None]:
            answers.append(question())
            done(None)
            return nothing

        self._call(begin)
        return answers[0]

    def _call(self, begin: Begin, timeout: float | None = None) -> None:
        def begin_if_open(done: Done) -> Callable[[], None]:
            self._check()
            return begin(done)

        self._check()
        self._wait(begin_if_open, timeout)

    def _check_thread(self) -> None:
        if threading.get_ident() == self._thread.ident:
            raise WrongThreadError

    def _wait(self, begin: Begin, timeout: float | None = None) -> None:
        self._check_thread()
        waiting = _Waiting()
        try:
            self._later(lambda: waiting.begin(begin))
            if not waiting.wait(timeout):
                raise DeadlineError
        except BaseException:
            self._later(lambda: waiting.give_up())
            raise
        if waiting.error is not None:
            raise waiting.error

    def _later(self, function: Callable[[], None]) -> None:
        with self._gate:
            if not self._ended:
                self._commands.append(function)
                lib.py_loop_wake(self._loop)
                return
        function()

    def _end(self) -> None:
        with self._gate:
            self._ended = True

    def _shut(self) -> None:
        """Ends the thread."""
        self._later(self._end)
        self._thread.join()
        lib.py_loop_close(self._loop)

    def _work(self) -> None:
        while not self._ended:
            lib.py_loop_wait(self._loop)
            self._dispatch()
            while self._commands:
                self._commands.popleft()()
