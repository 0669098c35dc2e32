"""The client for asyncio: no thread, the event loop watches the library's file descriptor.

    async with redlock.aio.Client(nodes) as client:
        async with client.lock("orders", fencing=True) as lock:
            await work(lock.fence)

A task that is cancelled while it waits leaves nothing locked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from threading import get_ident
from types import TracebackType
from typing import Any, TypeVar

from ._core import Answer, Begin, ClientBase, ElectionBase, LockBase, any_of, leaving, ms
from ._native import lib
from .errors import ClosedError, DeadlineError, Error, SystemFailureError, WrongThreadError

AnyClient = TypeVar("AnyClient", bound="Client")
AnyLock = TypeVar("AnyLock", bound="Lock")
AnyElection = TypeVar("AnyElection", bound="Election")


class Lock(LockBase):
    """A lock that a task acquires and any task releases. `lost` is an asyncio.Event. An async with block
    ends with LostError if the lock was lost in it and the block itself raised nothing; that too few
    nodes answered the release is no error there."""

    _client: Client
    lost: asyncio.Event

    async def acquire(self, timeout: float | None = None, *, tries: int | None = None) -> None:
        """Waits until it is held, for up to `timeout` seconds (None: the lock's own timeout; 0: one
        attempt) or `tries` attempts. Raises a NotAcquiredError, or another Error; then nothing is held."""
        await self._client._call(self._acquire(timeout, tries))

    async def release(self) -> None:
        """Raises LostError if it had been lost, NoQuorumError if too few nodes have answered: the release
        is then retried in the background. A release that is cancelled takes place all the same."""
        await self._client._call(self._release)

    async def extend(self, ttl: float = 0) -> None:
        """Extends it to `ttl` seconds from now (0: its own ttl). Raises UnknownError if too few nodes
        answered: validity is what it was."""
        await self._client._call(self._prolong(lib.py_extend, ms(ttl)))

    def alive(self) -> None:
        """A sign of life, see max_silence: call it where the work makes progress. Raises the LostError if the
        lock was lost."""
        self._client._ask(self._alive)
        self._client._kick()

    async def upgrade(self) -> None:
        """Makes a reader's hold exclusive if nobody else reads. It tries once: HeldError, also right after
        another's release, WouldDeadlockError and UnknownError leave it a reader's."""
        await self._client._call(self._prolong(lib.py_upgrade))

    async def downgrade(self) -> None:
        """Makes an exclusive hold a reader's, without a gap."""
        await self._client._call(self._prolong(lib.py_downgrade))

    async def __aenter__(self: AnyLock) -> AnyLock:
        await self.acquire()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        with leaving(error):
            await self.release()


class Election(ElectionBase):
    """A candidate; it campaigns within its async with block:

        async with client.election("scheduler") as election:
            await election.wait()
            while election.is_leader():
                await work()

    `elected` and `lost` are asyncio.Events.
    """

    _client: Client
    elected: asyncio.Event
    lost: asyncio.Event

    async def wait(self, timeout: float | None = None) -> None:
        """Waits until it leads. Raises DeadlineError, CanceledError if the candidacy ends before, and NotHeldError
        if there is none."""
        self._client._check()
        if self.elected.is_set():
            return
        try:
            await asyncio.wait_for(self._client._call(self._until_elected), timeout)
        except asyncio.TimeoutError:
            raise DeadlineError(f"{self._title}: not elected in time") from None

    async def campaign(self) -> None:
        """Becomes a candidate, until resign(). It does not wait to be elected."""
        await self._client._call(self._begin)

    def alive(self) -> None:
        """A sign of life of the leader's work, see max_silence. Raises NotHeldError if it does not lead."""
        self._client._ask(self._alive)
        self._client._kick()

    async def resign(self) -> None:
        """Ends the candidacy, and the leadership. Raises LostError if the leadership had been lost."""
        await self._client._call(self._resign)

    async def __aenter__(self: AnyElection) -> AnyElection:
        await self.campaign()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        with leaving(error):
            await self.resign()


class Client(ClientBase[Lock, Election]):
    __doc__ = (ClientBase.__doc__ or "") + """
    It is opened by `async with`, or open(), which waits for the nodes for connect_timeout (1 s) at most,
    and belongs to the event loop that runs then. After fork() the child opens its own: there all calls
    raise ForkedError.
    """

    _lock_type = Lock
    _election_type = Election
    _event_type = asyncio.Event

    _aio: asyncio.AbstractEventLoop | None = None
    _ident = 0  # of its thread
    _soon: asyncio.Handle | None = None
    _timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        if self._aio is not None:
            raise ClosedError("a client is opened once")
        self._aio = asyncio.get_running_loop()
        self._ident = get_ident()
        if lib.py_loop_open(self._loop) != 0:
            raise SystemFailureError("the loop cannot be opened: are there descriptors left?")
        self._aio.add_reader(lib.py_loop_fd(self._loop), self._turn)
        try:
            await self._wait(self._open)
        except (Error, asyncio.CancelledError):
            self._is_closing = True
            await asyncio.shield(asyncio.ensure_future(self._finish()))
            raise

    async def close(self) -> None:
        """Closes it: waiting calls end with CanceledError, what is held is released. In a child, after
        fork(), nothing is done."""
        if self._is_over():
            return
        self._running()
        self._is_closing = True
        await asyncio.shield(asyncio.ensure_future(self._finish()))

    async def acquire_any(self, locks: Sequence[Lock], timeout: float | None = None) -> Lock:
        """Acquires one of these locks, whichever is free, and returns it: for workers that take any job.
        They are tried in a random order, again and again for up to `timeout` seconds (None: without limit;
        0: once). Locks of the list that are held are left out. Raises as Lock.acquire()."""
        return await any_of(locks, timeout, lambda lock: lock.acquire(0), asyncio.sleep)

    async def _finish(self) -> None:
        await self._wait(self._close)
        self._shut()

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        self._check()
        if get_ident() != self._ident:
            raise WrongThreadError("the client belongs to another thread")
        return question()

    async def __aenter__(self: AnyClient) -> AnyClient:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    def _call(self, begin: Begin) -> Coroutine[None, None, None]:
        self._check()
        return self._wait(begin)

    def _running(self) -> asyncio.AbstractEventLoop:
        aio = self._aio
        # As get_running_loop(), which is a system call before Python 3.12.
        if aio is None or get_ident() != self._ident or not aio.is_running():
            raise WrongThreadError("the client belongs to another event loop")
        return aio

    async def _wait(self, begin: Begin) -> None:
        future: asyncio.Future[None] = self._running().create_future()

        def done(error: Error | None) -> None:
            if future.done():
                pass  # the task was cancelled
            elif error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

        give_up = begin(done)
        if self._soon is None:
            self._kick()
        try:
            await future
        except asyncio.CancelledError:
            give_up()
            self._kick()
            raise

    def _kick(self) -> None:
        """The library has something to send: runs once for all calls of this turn of the event
        loop."""
        if self._soon is None and self._aio is not None:
            self._soon = self._aio.call_soon(self._turn)

    def _turn(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        timeout_ms = lib.py_loop_turn(self._loop)
        self._dispatch()
        if timeout_ms == 0:
            self._kick()
        elif timeout_ms > 0 and self._aio is not None:
            due = self._aio.time() + timeout_ms / 1000
            # A timer that fires too early does no harm, and most are postponed before they are due.
            if self._timer is None or self._timer.cancelled() or self._timer.when() > due:
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = self._aio.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._turn()

    def _later(self, function: Callable[[], None]) -> None:
        assert self._aio is not None
        if not self._aio.is_closed():
            self._aio.call_soon_threadsafe(self._do, function)

    def _do(self, function: Callable[[], None]) -> None:
        function()
        self._kick()

    def _run(self, function: Callable[[Any], object], argument: Any) -> None:
        try:
            function(argument)
        except Exception as error:
            assert self._aio is not None
            self._aio.call_exception_handler({"message": f"redlock: {function!r} failed", "exception": error})

    def _shut(self) -> None:
        assert self._aio is not None
        self._aio.remove_reader(lib.py_loop_fd(self._loop))
        for handle in (self._soon, self._timer):
            if handle is not None:
                handle.cancel()
        self._soon = self._timer = None
        lib.py_loop_close(self._loop)
