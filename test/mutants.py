#!/usr/bin/env python3
"""Would the unit tests notice? Changes lib/core in one place at a time, and runs them.

    python3 test/mutants.py                       all of lib/core: about half an hour on one core
    python3 test/mutants.py lock.c round.c        these files
    python3 test/mutants.py --list lock.c         only says what would be changed
    python3 test/mutants.py --sim BUILD lock.c    what unit tests let pass goes to BUILD's simulator

Needs gcc and cmocka. Nothing in the tree is touched: it works on a copy in a temporary folder. Each
mutant is compiled into a shared library that the tests/unit/core_* programs load, so they are built
once. Mutants that are not worth a look are left out: those that do not compile, and those of which
the compiler makes the same code. A test that needs more than ten times its usual processor time has
failed: loops without an end are mutants that were found.

What survives is printed: FILE:LINE: OLD -> NEW. Either it changes nothing that anybody can see, or
a test is missing, or the code is not needed. That is for a reader to say, so the exit status says
only that it ran.
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# gnu11 for the tests alone, which fork and look at signals.
CORE_FLAGS = ["-std=c11", "-O2", "-fPIC", "-fno-semantic-interposition", "-w", "-Ilib"]
TEST_FLAGS = ["-std=gnu11", "-O2", "-fPIE", "-w", "-Ilib", "-Iinclude", "-Itest"]
PRESETS = ["network", "kept", "fenced", "forgetful", "swarm", "restarts"]

# Names of which one stands for the next of its group.
GROUPS = [
    "RL_RESULT_: OK HELD NO_QUORUM EXPIRED DEADLINE CANCELED LOST UNKNOWN MAX_HOLD PERMITS",
    "RL_: IDLE WAITING READY TRYING FENCING BACKOFF GRANTED HELD EXTENDING RELEASING LOST",
    "RL_VOTE_: GRANTED REFUSED FAILED",
    "RL_: WON DEFEATED OPEN",
    "RL_ROUND_: ACQUIRE FENCE EXTEND RELEASE",
    "RL_DEBT_: REFUSED UNANSWERED NONE",
    "RL_END_: DONE REPAIRED REPAID OWED OWED_AGAIN",
    "RL_SENT_: SET RAISE EXTEND RELEASE",
]
OPPOSITES = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "++": "--", "--": "++", "<<": ">>",
    ">>": "<<", "|=": "=", "&=": "=", "+=": "=", "-=": "=", "& ~": "& ", "|": "&", "&": "|",
    "!": "", "true": "false", "false": "true", "RL_NEVER": "0", "->up": "->voters",
    "->voters": "->up",
}
OPERATORS = (r"\+\+|--|&&|\|\||<<|>>|[=!]=|(?<=\s)(?:[-+|&]=|[<>]=?|[-+*/%|])(?=\s)|& ~"
             r"|(?<=[\w)] )&(?= [\w(!])|!(?=[\w(])|\b(?:true|false|RL_NEVER)\b|->(?:up|voters)\b")
TERMS = r"(?:\bIN\(RL_\w+\)|\b(?:IS|HAS)_\w+)"
STATEMENT = (r"^ +(?!return\b|else\b|if\b|for\b|while\b|case\b|do\b)"
             r"((?:[a-zA-Z_]\w*(?:->|\.|\[[^\]\n]*\])?|\*)+"
             r"(?:\([^;{}]*\)| (?:=|\|=|&=|\+=|-=) [^;]*?|\+\+|--));")


def names():
    for group in GROUPS:
        prefix, _, members = group.partition(": ")
        members = members.split()
        for i, name in enumerate(members):
            yield prefix + name, prefix + members[(i + 1) % len(members)]


NEXT_NAME = dict(names())


def blanked(match):
    return re.sub(r"[^\n]", " ", match if isinstance(match, str) else match.group())


def end_of_parentheses(text, at):
    depth = 0
    while True:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return at


def code_of(text, is_header):
    """The text with blanks for all that is not to be changed: comments, strings, assertions."""
    for pattern in (r"/\*.*?\*/", r'"(?:\\.|[^"\\\n])*"', r"^#ifndef NDEBUG.*?^#endif",
                    r"^(?:static )?void \w+_invariant\(.*?^}", r"\b\w+_invariant\(\w+\);",
                    r"^#(?!define)[^\n]*", r"^#define \w+_H$"):
        text = re.sub(pattern, blanked, text, flags=re.M | re.S)
    for match in re.finditer(r"\b(?:static_assert|assert|RL_MARK)\(", text):
        end = end_of_parentheses(text, match.end() - 1)
        text = text[:match.start()] + blanked(text[match.start():end]) + text[end:]
    if is_header:  # definitions and inline functions
        kept = [m.span() for m in re.finditer(r"^#define[^\n]*|^static inline.*?^}", text,
                                              re.M | re.S)]
        text = "".join(c if c == "\n" or any(a <= i < b for a, b in kept) else " "
                       for i, c in enumerate(text))
    return text


def mutants(text, is_header=False):
    """All (from, to, what stands there instead), in order."""
    code, found = code_of(text, is_header), set()
    for m in re.finditer(OPERATORS, code):
        if not code[:m.start()].endswith("["):
            found.add((*m.span(), OPPOSITES[m.group()]))
    for m in re.finditer(r"& ~\(?", code):  # without the mask
        end = (end_of_parentheses(code, m.end() - 1) if m.group().endswith("(") else
               m.end() + re.match(r"[\w>.\-]*(?:\([^()]*\))?", code[m.end():]).end())
        found.add((m.start(), end, ""))
    for m in re.finditer(r"(?<![\w.])\d+(?=[uU\s;,\])}:]|$)", code, re.M):
        found.update((*m.span(), str(int(m.group()) + d)) for d in (1, -1)
                     if int(m.group()) + d >= 0)
    for m in re.finditer(r"\b(if|while) \(", code):
        end = end_of_parentheses(code, m.end() - 1) - 1
        found.update((m.end(), end, value) for value in ("0", "1")[:2 if m.group(1) == "if" else 1])
    for m in re.finditer(r"\?([^?:;]+):([^?:;]+?)(?=;|\)?,|\);)", code):
        found.add((*m.span(), "?" + text[slice(*m.span(2))] + " :" + text[slice(*m.span(1))]))
    for m in list(re.finditer(TERMS + r" \| ", code)) + list(re.finditer(r" \| " + TERMS, code)):
        found.add((*m.span(), ""))
    for m in re.finditer(STATEMENT, code, re.M):
        found.add((*m.span(1), re.sub(r"[^\n]", "", m.group(1))))
    for m in re.finditer(r"\b(?:return|break);", code):
        found.add((*m.span(), ";"))
    for m in re.finditer(r"(?<!\[)\bRL_\w+\b", code):
        if m.group() in NEXT_NAME:
            found.add((*m.span(), NEXT_NAME[m.group()]))
    return sorted(found)


class Workshop:
    def __init__(self, folder, simulator):
        self.folder, self.simulator = folder, simulator
        for name in ("lib", "include", "test"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, name))
        self.core = sorted(f for f in os.listdir(folder + "/lib/core") if f.endswith(".c"))
        self.objects = {}
        for name in self.core:
            self.objects[name] = self.compile(name)
        self.run(["gcc", *CORE_FLAGS, "-c", "lib/base/mark.c", "-o", "mark.o"])
        self.link()
        self.usual_s = {}
        for name in sorted(os.listdir(folder + "/test/unit")):
            if re.fullmatch(r"core_\w+_test\.c", name):
                test = "./" + name[:-2]
                self.run(["gcc", *TEST_FLAGS, "test/unit/" + name, "-o", test, "-L.", "-lcore",
                          "-lcmocka", "-Wl,-rpath,$ORIGIN"])
                begin = time.monotonic()
                self.run([test, *self.stories(name)])
                self.usual_s[test] = time.monotonic() - begin
        self.tests = sorted(self.usual_s, key=self.usual_s.get)
        if simulator:  # the same objects, but the core
            self.run(["gcc", *simulator, "-o", "sim", "-L.", "-lcore", "-lhiredis", "-luv",
                      "-lpthread", "-Wl,-rpath,$ORIGIN"])

    def stories(self, name):
        """The texts that core_lock_test.c tells: lock_*.txt (test/unit/stories.h)."""
        pattern = re.match(r"core_(.*)_test", name).group(1) + r"_\w+\.txt"
        return sorted("test/unit/" + f for f in os.listdir(self.folder + "/test/unit")
                      if re.fullmatch(pattern, f))

    def run(self, command):
        subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)

    def compile(self, name):
        target = f"{name}.o"
        self.run(["gcc", *CORE_FLAGS, "-c", "lib/core/" + name, "-o", target])
        with open(os.path.join(self.folder, target), "rb") as file:
            return file.read()

    def link(self):
        self.run(["gcc", "-shared", "-o", "libcore.so", "mark.o", *(f + ".o" for f in self.core)])

    def passes(self, command, seconds):
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
        return subprocess.run(command, cwd=self.folder, preexec_fn=limit, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def judge(self, name, text):
        """Of the file with another text: who has noticed; "" if nobody, None if it is no mutant."""
        path = os.path.join(self.folder, "lib/core", name)
        with open(path, encoding="utf-8") as file:
            before = file.read()
        touched = [name] if name.endswith(".c") else self.core
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if all([self.compile(source) == self.objects[source] for source in touched]):
                return None
            self.link()
            return self.who_notices(name)
        except subprocess.CalledProcessError:
            return None
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before)
            for source in touched:
                with open(os.path.join(self.folder, source + ".o"), "wb") as file:
                    file.write(self.objects[source])

    def who_notices(self, name):
        own = "./core_lock_test" if name.startswith("lock") else f"./core_{name[:-2]}_test"
        for test in sorted(self.tests, key=lambda test: test != own):
            command = [test, *self.stories(test[2:])]
            if not self.passes(command, 5 + int(10 * self.usual_s[test])):
                return "unit"
        for preset in PRESETS if self.simulator else []:
            if not self.passes(["./sim", "--preset", preset, "--seeds", "1..200", "--no-progress"],
                               60):
                return "sim"
        return ""


def simulator_objects(build):
    folders = ("test/sim/libsim.a.p", "test/sim/redlock-sim.p", "tool/server/libserver.a.p",
               "lib/libredlock_internal.a.p")
    paths = [os.path.join(build, folder) for folder in folders]
    objects = [os.path.abspath(os.path.join(path, name)) for path in paths
               if os.path.isdir(path) for name in os.listdir(path) if name.endswith(".o")]
    if not objects:
        sys.exit(f"mutants.py: --sim {build}: no simulator is built there; build it with ninja -C "
                 f"{build} test/sim/redlock-sim")
    return objects


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--sim", metavar="BUILD")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    os.environ.setdefault("REDLOCK_SEED", "20260721")  # whether one is noticed is no chance
    core = os.path.join(ROOT, "lib/core")
    files = options.files or sorted(os.listdir(core))
    for name in files:
        if not os.path.isfile(os.path.join(core, name)):
            sys.exit(f"mutants.py: {name}: no file of lib/core; give names such as lock.c")
    count = {"unit": 0, "sim": 0, "": 0, None: 0}
    with tempfile.TemporaryDirectory(prefix="redlock-mutants.") as folder:
        objects = simulator_objects(options.sim) if options.sim else []
        workshop = None if options.list else Workshop(folder, objects)
        for name in files:
            with open(os.path.join(core, name), encoding="utf-8") as file:
                text = file.read()
            for begin, end, new in mutants(text, name.endswith(".h")):
                line, old = text.count("\n", 0, begin) + 1, " ".join(text[begin:end].split())
                told = f"lib/core/{name}:{line}: {old} -> {new.strip() or '(nothing)'}"
                noticed = "" if options.list else workshop.judge(name,
                                                                 text[:begin] + new + text[end:])
                count[noticed] += 1
                if noticed == "":
                    print(told, flush=True)
    if options.list:
        return 0
    print(f"{sum(count.values()) - count[None]} mutants; {count['unit']} noticed by unit tests, "
          f"{count['sim']} by the simulator, {count['']} by nothing; {count[None]} are none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
