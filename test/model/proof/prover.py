"""Inductive invariants: what a theory has to prove, and the provers that prove it.

A Theory has symbols that never change, axioms about them, a state (symbols that do), invariants and
actions. An invariant holds always if it holds in the beginning and each action keeps it. An action
is a method whose annotated parameters may be anything of their sorts:

    def end(self, now, at: Node):
        return Step([now.key(at)], key=lambda n: now.key(n) & (n != at))

states what must hold before (`needs`) and what holds afterwards; what it does not name stays. The
invariant afterwards is then a formula about the state before: each symbol is replaced by its new
value. If that does not change the formula, there is nothing to prove.
"""
import inspect
import os
import shutil
import subprocess
import tempfile
from collections import namedtuple
from types import SimpleNamespace

from terms import BOOL, FALSE, TRUE, Const, Var, conjunction, every, smt, text, tptp

Obligation = namedtuple("Obligation", "theory action claim hypotheses goal")


class Step:
    def __init__(self, needs, **becomes):
        self.needs, self.becomes = needs, becomes


class Theory:
    """wrong: the names of the rules that are broken on purpose."""

    name = ""
    state = []  # the symbols that change
    ACTIONS = []  # the names of the methods

    def __init__(self, *wrong):
        self.wrong = wrong

    def breaks(self, rule):
        """A formula that is TRUE if the rule is broken: `condition | breaks(rule)`."""
        return TRUE if rule in self.wrong else FALSE

    def axioms(self):
        return []

    def begins(self, now):
        """The initial state: all relations are empty, and functions are arbitrary."""
        return [none_of(symbol) for symbol in self.state if symbol.result is BOOL]

    def invariants(self, now):
        """name -> formula"""
        raise NotImplementedError

    def claims(self, now):
        """What the invariants are for: name -> formula."""
        raise NotImplementedError

    # -- what has to be shown --

    def before(self):
        return SimpleNamespace(**{symbol.name: symbol for symbol in self.state})

    def after(self, step):
        state = self.before()
        vars(state).update(step.becomes)
        return state

    def actions(self):
        """name -> function(state, parameters by name), parameters: name -> sort"""
        for name in self.ACTIONS:
            method = getattr(self, name)
            sorts = {
                parameter.name: parameter.annotation
                for parameter in inspect.signature(method).parameters.values()
                if parameter.annotation is not inspect.Parameter.empty
            }
            yield name, method, sorts

    def obligations(self):
        now = self.before()
        holds = self.invariants(now)
        for name, formula in holds.items():
            yield Obligation(self, "begin", name, self.axioms() + self.begins(now), formula)
        given = self.axioms() + list(holds.values())
        for action, method, sorts in self.actions():
            step = method(now, **{name: Const("the_" + name, sort) for name, sort in sorts.items()})
            then = self.invariants(self.after(step))
            for name, formula in then.items():
                if text(formula) != text(holds[name]):
                    yield Obligation(self, action, name, given + step.needs, formula)
        for name, formula in self.claims(now).items():
            yield Obligation(self, "claim", name, given, formula)

    def possible(self):
        """For each action, what must not be provable: that it cannot happen where the invariants
        hold."""
        now = self.before()
        given = self.axioms() + list(self.invariants(now).values())
        for action, method, sorts in self.actions():
            step = method(now, **{name: Const("the_" + name, sort) for name, sort in sorts.items()})
            yield Obligation(self, action, "is possible", given, ~conjunction(step.needs))


def none_of(relation):
    variables = [Var(f"v{i}", sort) for i, sort in enumerate(relation.domain)]
    return every(*variables)(~relation(*variables))


# -- the provers --

PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"


class Prover:
    def __init__(self, name, package, language, command, answers):
        self.name, self.package, self.command = name, package, command
        self.language, self.answers = language, answers

    def is_there(self):
        return shutil.which(self.command[0]) is not None

    def version(self):
        out = subprocess.run([self.command[0], "--version"], capture_output=True, text=True).stdout
        return out.splitlines()[0] if out else "?"

    def run(self, problem, limit_s):
        return self.ask(self.language(problem.hypotheses, problem.goal), limit_s)

    def ask(self, problem, limit_s):
        """PROVED, REFUTED (there is a counter-example) or UNKNOWN, and what it printed."""
        with tempfile.NamedTemporaryFile("w", suffix=".p", delete=False) as file:
            file.write(problem)
        command = [part.format(s=limit_s, ms=1000 * limit_s) for part in self.command]
        try:
            done = subprocess.run(
                [*command, file.name], capture_output=True, text=True, timeout=limit_s + 10
            )
        except subprocess.TimeoutExpired:
            return UNKNOWN, "no answer"
        finally:
            os.unlink(file.name)
        for sign, answer in self.answers.items():
            if sign in done.stdout.splitlines():
                return answer, done.stdout
        return UNKNOWN, done.stdout + done.stderr


SMT_ANSWERS = {"unsat": PROVED, "sat": REFUTED}
Z3 = Prover("z3", "z3", smt, ["z3", "-T:{s}"], SMT_ANSWERS)
CVC5 = Prover(
    "cvc5",
    "cvc5",
    smt,
    ["cvc5", "--lang=smt2", "--full-saturate-quant", "--tlimit={ms}"],
    SMT_ANSWERS,
)
E = Prover(
    "E",
    "eprover",
    tptp,
    ["eprover", "--auto", "-s", "--cpu-limit={s}"],
    # Contradictory axioms would prove anything, so that status is no answer.
    {"# SZS status Theorem": PROVED, "# SZS status CounterSatisfiable": REFUTED},
)
PROVERS = [Z3, CVC5, E]
