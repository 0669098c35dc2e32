"""The file that moves one node's wall clock; clock.c, preloaded into the node, reads it.

Happy path: Clock(path) makes the file with the real time in it; step() and drift() take effect at
the node's next look at its clock. Failure modes: a file that cannot be made raises OSError.
"""

from __future__ import annotations

import mmap
import struct
import time
from pathlib import Path

FILE_BYTES = 64
_SETTING = struct.Struct("<qqq")  # base_ns, offset_ns, rate_ppm
_SETTINGS_AT = 8
PPM = 1_000_000


class Clock:
    """One node's clock. Offsets add up; moved_ns remembers how far it ever was from real time."""

    def __init__(self, path: Path) -> None:
        self._base_ns = time.time_ns()
        self._offset_ns = 0
        self._rate_ppm = 0
        self._active = 0
        self.moved_ns = 0
        path.write_bytes(bytes(FILE_BYTES))
        path.chmod(0o644)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), FILE_BYTES)
        self._write()

    def close(self) -> None:
        self._map.close()

    def step(self, by_ns: int) -> None:
        """The clock jumps, forward or back, and goes on at the rate that it had."""
        self._settle()
        self._offset_ns += by_ns
        self._write()

    def drift(self, rate_ppm: int) -> None:
        """From now on the clock gains (or loses) this many microseconds per second. No jump."""
        self._settle()
        self._rate_ppm = rate_ppm
        self._write()

    def reset(self) -> None:
        """Back to real time, by a jump if necessary."""
        self._settle()
        self._offset_ns = 0
        self._rate_ppm = 0
        self._write()

    def _settle(self) -> None:
        """Turns the drift so far into offset, so that a new rate starts from here."""
        now_ns = time.time_ns()
        self._offset_ns += (now_ns - self._base_ns) * self._rate_ppm // PPM
        self._base_ns = now_ns

    def _write(self) -> None:
        """Fills the setting that is not in use, then makes it the one in use."""
        self.moved_ns = max(self.moved_ns, abs(self._offset_ns))
        self._active ^= 1
        _SETTING.pack_into(
            self._map,
            _SETTINGS_AT + self._active * _SETTING.size,
            self._base_ns,
            self._offset_ns,
            self._rate_ppm,
        )
        self._map[0:_SETTINGS_AT] = struct.pack("<Q", self._active)
