"""What goes wrong: one exception for each status of the library.

    Error
      NotAcquiredError      DeadlineError, HeldError, NoQuorumError, PermitsError
      LostError             ExpiredError, MaxHoldError, SilentError
      UsageError            InvalidError, DuplicateError, BusyError, NotHeldError, AlreadyHeldError,
                            PartHeldError, WouldDeadlockError, WrongThreadError, ClosedError, ForkedError
      CanceledError, UnknownError, SystemFailureError

The text of each names the resource and, node by node, the reason. include/redlock/status.h has the
causes and the remedies.
"""

from __future__ import annotations

from typing import Any

from ._native import ffi, lib

__all__ = ["Error", "NotAcquiredError", "DeadlineError", "HeldError", "NoQuorumError", "PermitsError",
           "LostError", "ExpiredError", "MaxHoldError", "SilentError", "UnknownError", "CanceledError", "SystemFailureError",
           "UsageError", "InvalidError", "DuplicateError", "ClosedError", "ForkedError", "BusyError",
           "NotHeldError", "AlreadyHeldError", "PartHeldError", "WrongThreadError", "WouldDeadlockError"]


class Error(Exception):
    """The base of all of them. `status` is the library's number, `name` its name, "ERR_HELD"."""

    statuses: tuple[int, ...] = ()

    def __init__(self, message: str = "", status: int | None = None) -> None:
        self.status = status if status is not None else self.statuses[0] if self.statuses else 0
        super().__init__(message or ffi.string(lib.redlock_strerror(self.status)).decode())

    @property
    def name(self) -> str:
        return str(ffi.string(lib.redlock_err_name(self.status)).decode())

    def __reduce__(self) -> tuple[type[Error], tuple[str, int], dict[str, Any]]:
        return type(self), (str(self), self.status), self.__dict__


class NotAcquiredError(Error):
    """The lock is not held, and nothing of the attempt stays on a node that answers."""


class DeadlineError(NotAcquiredError, TimeoutError):
    """The timeout is over. `attempt` is the exception that the last attempt would have raised on its
    own: HeldError if the lock is busy, NoQuorumError in an outage; None if there was no attempt."""

    statuses = (-23,)
    attempt: type[Error] | None = None


class HeldError(NotAcquiredError):
    """Others hold it; or, of an upgrade, others read. With timeout 0."""

    statuses = (-20,)


class NoQuorumError(NotAcquiredError):
    """Too many nodes failed, are down or may not vote. Of a release: it is retried."""

    statuses = (-21,)


class PermitsError(NotAcquiredError):
    """The semaphore has another number of permits, and some of them are in use."""

    statuses = (-29,)


class LostError(Error):
    """The lock was lost while it was held: what was done since may have been unprotected."""

    statuses = (-25,)


class ExpiredError(LostError):
    """Validity ran out, or a quorum granted the lock too late."""

    statuses = (-22,)


class MaxHoldError(LostError):
    """max_hold is over."""

    statuses = (-27,)


class SilentError(LostError):
    """There was no sign of life for max_silence, so it was not renewed."""

    statuses = (-30,)


class UnknownError(Error):
    """Too many nodes did not answer an extension: validity is what it was, call again."""

    statuses = (-26,)


class CanceledError(Error):
    """The client was closed, or the candidacy has ended, meanwhile."""

    statuses = (-24,)


class SystemFailureError(Error, OSError):
    """No memory, socket, thread or random bytes; the text has the system's words."""

    statuses = (-3, -2)


class UsageError(Error):
    """The call is wrong, or comes at the wrong time."""


class InvalidError(UsageError, ValueError):
    """An argument, an option or a URL; TLS in a library without it. The text names it."""

    statuses = (-1, -4, -5)


class DuplicateError(UsageError):
    """Two URLs name one server, which must not have two votes."""

    statuses = (-6,)


class ClosedError(UsageError):
    """The client is closed, or not open yet."""

    statuses = (-7,)


class ForkedError(UsageError):
    """The client was opened before fork(): open a new one in this process."""

    statuses = (-8,)


class BusyError(UsageError):
    """An operation of this object is pending: each task needs an object of its own."""

    statuses = (-9, -11)


class NotHeldError(UsageError):
    """The object does not hold the lock."""

    statuses = (-10, -14)


class AlreadyHeldError(UsageError):
    """The object holds the lock: each task needs an object of its own."""

    statuses = (-12,)


class PartHeldError(UsageError):
    """The owner already holds a part of these resources, and would wait for itself."""

    statuses = (-13,)


class WrongThreadError(UsageError):
    """A call that waits was made in a callback, for which it would wait."""

    statuses = (-15,)


class WouldDeadlockError(UsageError):
    """The owner reads and wants to write; or two readers want to upgrade."""

    statuses = (-16,)


def _all(base: type[Error]) -> dict[int, type[Error]]:
    found = {status: base for status in base.statuses}
    for sub in base.__subclasses__():
        found.update(_all(sub))
    return found


_CLASSES = _all(Error)


def error_of(status: int, message: str = "") -> Error:
    """The exception of a status."""
    return _CLASSES.get(status, Error)(message, status)
