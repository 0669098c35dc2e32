"""A program on a terminal of its own: what is on the screen, and what is typed.

    screen = Screen(["redlock", "top"], columns=80, rows=24)
    screen.await_text("node")           until a line has it
    screen.press("q"); screen.resize(200, 50); screen.signal(signal.SIGTERM)
    screen.wait()                       the exit status; 128 + n: signal n ended it

It knows the sequences that redlock top sends, and stops the test at any other."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata

SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")
PATIENCE_S = 60


def width(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def act_as_shell(argv, env, tell):
    """As a shell with job control does: the program has the foreground, and can be stopped, which
    is printed. So is a terminal that is left without blocking, which only we see: it is a thing of
    what our stdin and the program's refer to. Returns its exit status, 128 + n after a signal."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.write(tell, str(os.getpid()).encode())
        os.execvpe(argv[0], argv, env)
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.get_blocking(0):
            os.write(1, b"unblocked")
        if os.WIFSTOPPED(status):
            os.write(1, b"stopped")
        else:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


class Screen:
    def __init__(self, argv, columns, rows, env=None):
        self.size = (columns, rows)
        self.alternate = False
        self.cursor_shown = True
        self.bytes = b""
        self.outside = ""  # what was put behind the edge
        self.shown = []  # on the plain screen: what was printed
        self.clear()
        told, tell = os.pipe()
        noted, note = os.pipe()
        self.shell, self.fd = pty.fork()
        if self.shell == 0:
            self.fd = 0
            self.set_size()
            os.read(noted, 1)
            os._exit(act_as_shell(argv, {**os.environ, "TERM": "xterm", **(env or {})}, tell))
        os.close(tell)
        self.modes = termios.tcgetattr(self.fd)
        os.write(note, b"!")  # not before: the program might have been quicker
        self.pid = int(os.read(told, 32))
        for fd in (told, noted, note):
            os.close(fd)

    def set_size(self):
        columns, rows = self.size
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def clear(self):
        columns, rows = self.size
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def resize(self, columns, rows):
        self.size = (columns, rows)
        self.clear()
        self.set_size()

    def signal(self, number):
        os.kill(self.pid, number)

    def press(self, text):
        os.write(self.fd, text.encode())

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def draw(self):
        """Takes what is there, as far as it is whole."""
        while self.bytes:
            if self.bytes.startswith(b"\x1b"):
                match = SEQUENCE.match(self.bytes)
                if match is None:
                    if len(self.bytes) < 16:
                        return
                    sys.exit(f"no sequence that is known: {self.bytes[:16]!r}")
                self.obey(*(part.decode() for part in match.groups()))
                self.bytes = self.bytes[match.end():]
                continue
            end = self.bytes.find(b"\x1b")
            text = self.bytes if end < 0 else self.bytes[:end]
            try:
                decoded = text.decode()
            except UnicodeDecodeError:
                if end >= 0:
                    sys.exit(f"no UTF-8: {text!r}")
                return  # a character that has not come as a whole
            self.bytes = self.bytes[len(text):]
            self.put(decoded)

    def obey(self, private, numbers, command):
        values = [int(number or 0) for number in numbers.split(";")]
        if private and numbers == "1049":
            self.alternate = command == "h"
            self.clear()
        elif private and numbers == "25":
            self.cursor_shown = command == "h"
        elif private and numbers == "7":
            pass
        elif command == "H":
            self.row = max(values[0], 1) - 1
            self.column = (max(values[1], 1) if len(values) > 1 else 1) - 1
        elif command == "K" and self.row < self.size[1]:
            self.cells[self.row][self.column:] = [" "] * (self.size[0] - self.column)
        elif command == "J":
            self.clear()
        elif command not in "mK":
            sys.exit(f"no sequence that is known: {private}{numbers}{command}")

    def put(self, text):
        if not self.alternate:
            self.shown.append(text)
            return
        for character in text:
            columns = width(character)
            if self.row >= self.size[1] or self.column + columns > self.size[0]:
                self.outside = f"row {self.row}, column {self.column}: {text!r}"
                return
            if columns > 0:
                self.cells[self.row][self.column] = character
                for extra in range(1, columns):
                    self.cells[self.row][self.column + extra] = ""
            self.column += columns

    def read(self, seconds):
        """False: the program has closed the terminal."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            got = b""
        self.bytes += got
        self.draw()
        return got != b""

    def await_text(self, pattern, absent=False):
        """The first line that matches; ends the test if there is none in time."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            found = [line for line in self.lines() if re.search(pattern, line)]
            if bool(found) != absent:
                return found[0] if found else ""
            if not self.read(0.2):
                break
        sys.exit(f"{'still' if absent else 'not'} there: {pattern}\n" + "\n".join(self.lines())
                 + "".join(self.shown))

    def wait(self):
        while self.read(PATIENCE_S):
            pass
        return self.ended()

    def ended(self):
        """As wait(), and reads nothing meanwhile."""
        _, status = os.waitpid(self.shell, 0)
        return os.waitstatus_to_exitcode(status)

    def is_as_before(self):
        """Whether the terminal got back what it was."""
        return (not self.alternate and self.cursor_shown and "unblocked" not in "".join(self.shown)
                and self.modes_are_as_before())

    def modes_are_as_before(self):
        return termios.tcgetattr(self.fd)[:4] == self.modes[:4]
