"""Scenes of redlock top on a terminal, for top_test.sh: top_scenes.py REDLOCK SCENE. Ends with 0, or
says what was not as it should be. What is on the nodes: see there."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from screen import Screen

redlock, scene = sys.argv[1:3]


def top(*options, columns=80, rows=24, env=None):
    return Screen([redlock, "top", "--interval", "200ms", *options], columns, rows, env)


def check(wanted, what):
    if not wanted:
        sys.exit(what)


def ends(screen, status):
    got = screen.wait()
    check(got == status, f"it ended with {got}, not {status}: {''.join(screen.shown)}")
    check(screen.is_as_before(), "the terminal did not get back what it was")


def names(screen):
    """The locks on the screen, from above."""
    lines = screen.lines()
    head = next(i for i, line in enumerate(lines) if line.startswith("resour"))
    return [line.split()[0] for line in lines[head + 1:-1] if line]


def shows():
    screen = top()
    screen.await_text(r"^redlock top .* 3 held  1 wait .* 5/5 nodes in ")
    screen.await_text(r" 1-3 of 3$")  # the last of it
    check(screen.alternate and not screen.cursor_shown, "not on a screen of its own")
    lines = screen.lines()
    check(sum("votes  " in line and " MB " in line for line in lines) == 5, "five nodes")
    check(any(line.startswith("nightly") and " web1:4711 " in line for line in lines), "nightly")
    check(names(screen) == ["größe/日本語", "many", "nightly"], f"{names(screen)}")
    check(lines[-1].startswith("q quit") and lines[-1].endswith("1-3 of 3"), lines[-1])
    check(screen.outside == "", screen.outside)
    screen.press("q")
    ends(screen, 0)


def sorts_and_filters():
    screen = top("--sort", "waiting")
    screen.await_text(r"sort .*: waiting .* 1-3 of 3$")
    check(names(screen)[0] == "nightly", f"{names(screen)}")
    screen.press("n")
    screen.await_text(r"sort .*: name")
    check(names(screen)[0] != "nightly", f"{names(screen)}")
    screen.press("W")
    screen.await_text(r" 1-1 of 1$")
    check(names(screen) == ["nightly"], f"{names(screen)}")
    screen.press("h")
    screen.await_text(r"^node ", absent=True)
    screen.press("q")
    ends(screen, 0)


def resizes():
    screen = top()
    screen.await_text(r" of 3$")
    screen.resize(200, 50)
    screen.await_text(r" fence ")
    check(len(screen.lines()) == 50 and screen.lines()[49].endswith("1-3 of 3"), "the last line")
    screen.resize(60, 24)
    screen.await_text(r"^q quit .* w.*~ 1-3 of 3$")
    screen.resize(40, 6)
    screen.outside = ""
    screen.await_text(r"^q quit")
    screen.await_text(r"^redlock top")
    screen.outside = ""  # what was on its way when it got smaller
    screen.press("n")
    screen.await_text(r"^and 5 more nodes|^and 4 more nodes")
    screen.resize(1, 1)
    screen.press("q")
    ends(screen, 0)


def is_ended_by(number, status):
    screen = top()
    screen.await_text(r" of 3$")
    if number is None:
        screen.press("\x03")
    else:
        screen.signal(number)
    ends(screen, status)


def stops():
    screen = top()
    screen.await_text(r" of 3$")
    screen.press("\x1a")
    while "stopped" not in "".join(screen.shown):
        check(screen.read(60), "it ended")
    check(screen.is_as_before(), "while it is stopped the terminal is not what it was")
    screen.signal(signal.SIGCONT)
    screen.await_text(r" of 3$")
    screen.press("q")
    ends(screen, 0)


def crashes():
    screen = top(env={"ASAN_OPTIONS": "handle_abort=0"})
    screen.await_text(r" of 3$")
    screen.signal(signal.SIGABRT)
    ends(screen, 128 + signal.SIGABRT)


def takes_nothing():
    """Nobody reads what the terminal has got: more screenfuls than it takes, and then the end."""
    screen = top(columns=300, rows=60)
    screen.await_text(r" of 3$")
    for _ in range(200):
        screen.signal(signal.SIGWINCH)
        time.sleep(0.005)  # signals that come together are one
    screen.signal(signal.SIGTERM)
    signal.alarm(30)  # each of them was waited for, 2 s
    check(screen.ended() == 128 + signal.SIGTERM, "status")
    check(screen.modes_are_as_before(), "the modes are not what they were")


def a_node_is_down():
    screen = top("--node-timeout", "100ms")
    screen.await_text(r" 3/5 nodes in ")
    screen.await_text(r"down: Connection refused")
    screen.await_text(r"down: no answer in time")
    check(names(screen)[0] == "größe/日本語", f"{names(screen)}")
    screen.press("q")
    ends(screen, 0)


def scrolls():
    screen = top("--prefix", "row:")
    screen.await_text(r" 1-15 of 100$")
    screen.press("\x1b[6~")
    screen.await_text(r" 15-29 of 100$")
    screen.press("\x1b[B")
    screen.await_text(r" 16-30 of 100$")
    screen.press("\x1b[F")
    screen.await_text(r" 86-100 of 100$")
    check(names(screen)[-1] == "row:99", f"{names(screen)}")
    screen.press("\x1b[1;5Z\x1bOH")  # one that is not known, and Home
    screen.await_text(r" 1-15 of 100$")
    screen.press("q")
    ends(screen, 0)


{
    "shows": shows,
    "sorts": sorts_and_filters,
    "resizes": resizes,
    "interrupt": lambda: is_ended_by(None, 130),
    "term": lambda: is_ended_by(signal.SIGTERM, 143),
    "stops": stops,
    "crashes": crashes,
    "stuck": takes_nothing,
    "down": a_node_is_down,
    "scrolls": scrolls,
}[scene]()
