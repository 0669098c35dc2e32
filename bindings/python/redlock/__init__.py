"""A lock on a majority of independent Redis nodes.

    import redlock

    with redlock.Client(["redis://a:6379", "redis://b:6379", "redis://c:6379"]) as client:
        with client.lock("orders", fencing=True) as lock:
            work(lock.fence)

redlock.aio has the same for asyncio. What the lock promises, and what it cannot: docs/guarantees.md.
"""

from __future__ import annotations

from . import aio, errors
from ._native import ffi, lib
from ._threads import Client, Election, Lock
from .errors import *

__all__ = ["Client", "Election", "Lock", "aio", "errors", "has_tls"]
__all__ += errors.__all__

__version__: str = ffi.string(lib.redlock_version()).decode()
has_tls = bool(lib.redlock_has_tls())
