"""Histories: finds a few steps of a theory, on few things, that lead to a goal.

Quantifiers range over listed things, so formulas become propositional, and z3 finds the steps.
`story()` gets only the allowed actions, the number of steps and the goal. Its histories show that
the model is not empty (witnesses).
"""
import itertools

from prover import Z3
from terms import BOOL, Const, Var

# Propositional formulas: True, False, or SMT-LIB text.


def both(*parts):
    parts = [part for part in parts if part is not True]
    if any(part is False for part in parts):
        return False
    return parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})" if parts else True


def negated(part):
    return not part if isinstance(part, bool) else f"(not {part})"


def either(*parts):
    parts = list(dict.fromkeys(part for part in parts if part is not False))
    if any(part is True for part in parts):
        return True
    return parts[0] if len(parts) == 1 else f"(or {' '.join(parts)})" if parts else False


def equal(one, other):
    if isinstance(one, bool):
        return other if one else negated(other)
    return equal(other, one) if isinstance(other, bool) else f"(= {one} {other})"


class Search:
    """things: sort -> names. rigid: symbol -> Python function of names, for what never changes.

    A name that depends on the moment ends in "@", and in "'" for the next moment: a step is written
    once, and at() copies it for each moment.
    """

    def __init__(self, theory, things, rigid):
        self.theory, self.things, self.rigid = theory, things, dict(rigid)
        self.lines, self.fresh, self.mark = [], 0, ""
        self.symbols = {symbol.name: symbol for symbol in theory.state}

    def declare(self):
        self.fresh += 1
        name = f"b{self.fresh}{self.mark}"
        self.lines.append(f"(declare-const {name} Bool)")
        return name

    def written(self, mark, function, *args):
        """What the function returns, and the lines that it wrote."""
        before, self.lines, self.mark = self.lines, [], mark
        result, lines = function(*args), self.lines
        self.lines, self.mark = before, ""
        return result, lines

    def one_of(self, sort):
        """A free value of the sort: value -> formula, one of which is true."""
        bits = {value: self.declare() for value in self.things[sort]}
        self.require(either(*bits.values()))
        self.require(self.at_most_one(bits.values()))
        return bits

    def at_most_one(self, bits):
        return f"((_ at-most 1) {' '.join(bits)})"

    def require(self, formula):
        text = str(formula).lower() if isinstance(formula, bool) else formula
        self.lines.append(f"(assert {text})")

    def assertion(self, formula, names, state):
        return self.written("@", self.require, self.truth(formula, names, state))[1]

    def all_args(self, symbol):
        return itertools.product(*(self.things[sort] for sort in symbol.domain))

    def free_state(self):
        return {
            name: {
                args: self.declare() if symbol.result is BOOL else self.one_of(symbol.result)
                for args in self.all_args(symbol)
            }
            for name, symbol in self.symbols.items()
        }

    # -- formulas on listed things --

    def truth(self, term, names, state):
        head, parts = term.head, term.parts
        inner = lambda: (self.truth(part, names, state) for part in parts)
        if head in ("true", "false"):
            return head == "true"
        if head == "and":
            return both(*inner())
        if head == "or":
            return either(*inner())
        if head == "not":
            return negated(next(inner()))
        if head == "=>":
            premise, conclusion = inner()
            return either(negated(premise), conclusion)
        if head == "ite":
            condition, then, otherwise = inner()
            return either(both(condition, then), both(negated(condition), otherwise))
        if head in ("forall", "exists"):
            lists = [self.things[variable.sort] for variable in term.bound]
            bound = [variable.parts[0] for variable in term.bound]
            join = both if head == "forall" else either
            return join(
                *(
                    self.truth(parts[0], {**names, **dict(zip(bound, values))}, state)
                    for values in itertools.product(*lists)
                )
            )
        if head == "=" and parts[0].sort is BOOL:
            return equal(*inner())
        if head == "=":
            left, right = (self.values(part, names, state) for part in parts)
            return either(*(both(left[v], right[v]) for v in left if v in right))
        cases = self.args(term, names, state)
        return either(*(both(when, self.look(head, args, state)) for args, when in cases))

    def values(self, term, names, state):
        """value -> the formula under which the term has it"""
        if term.head == "var":
            return {names[term.parts[0]]: True}
        if term.head == "ite":
            condition = self.truth(term.parts[0], names, state)
            then, otherwise = (self.values(part, names, state) for part in term.parts[1:])
            return {
                v: either(
                    both(condition, then.get(v, False)),
                    both(negated(condition), otherwise.get(v, False)),
                )
                for v in {**then, **otherwise}
            }
        if not term.parts and term.head.name in names:
            return {names[term.head.name]: True}
        found = {}
        for args, when in self.args(term, names, state):
            value = self.look(term.head, args, state)
            for v, so in value.items() if isinstance(value, dict) else [(value, True)]:
                found[v] = either(found.get(v, False), both(when, so))
        return found

    def args(self, term, names, state):
        options = [self.values(part, names, state).items() for part in term.parts]
        for choice in itertools.product(*options):
            yield tuple(value for value, _ in choice), both(*(when for _, when in choice))

    def look(self, symbol, args, state):
        if symbol.name in self.rigid:
            return self.rigid[symbol.name](*args)
        table = state.setdefault(symbol.name, {})
        if args not in table:  # free in this step
            table[args] = self.declare() if symbol.result is BOOL else self.one_of(symbol.result)
        return table[args]

    # -- steps --

    def instances(self, names):
        """(action, the names of its parameters, Step)"""
        now = self.theory.before()
        for action, method, sorts in self.theory.actions():
            if action not in names:
                continue
            step = method(now, **{name: Const("the_" + name, sort) for name, sort in sorts.items()})
            for values in itertools.product(*(self.things[sort] for sort in sorts.values())):
                yield action, dict(zip(sorts, values)), step

    def step(self, before, actions):
        """choice -> (action, parameters)"""
        chosen, changes = {}, {}
        for action, parameters, step in self.instances(actions):
            scratch = dict(before)
            names = {"the_" + name: value for name, value in parameters.items()}
            needs = both(*(self.truth(need, names, scratch) for need in step.needs))
            if needs is False:
                continue
            choice = self.declare()
            chosen[choice] = (action, parameters)
            self.require(either(negated(choice), needs))
            for name, becomes in step.becomes.items():
                self.change(choice, name, becomes, names, scratch, changes)
        if chosen:
            self.require(self.at_most_one(chosen))
        for name, table in before.items():
            for args, old in table.items():
                for value, was in old.items() if isinstance(old, dict) else [(None, old)]:
                    then = was.replace("@", "'")
                    by = changes.get((name, args, value), [])
                    for choice, becomes in by:
                        self.require(either(negated(choice), equal(then, becomes)))
                    self.require(either(*(choice for choice, _ in by), equal(then, was)))
        return chosen

    def change(self, choice, name, becomes, names, state, changes):
        symbol = self.symbols[name]
        variables = [Var(f"w{i}", sort) for i, sort in enumerate(symbol.domain)]
        term = becomes(*variables)
        for args in self.all_args(symbol):
            bound = {**names, **{f"w{i}": value for i, value in enumerate(args)}}
            old = state[name][args]
            if symbol.result is BOOL:
                new = self.truth(term, bound, state)
                if new != old:
                    changes.setdefault((name, args, None), []).append((choice, new))
                continue
            new = self.values(term, bound, state)
            for value, was in old.items():
                if new.get(value, False) != was:
                    changes.setdefault((name, args, value), []).append(
                        (choice, new.get(value, False))
                    )


def at(moment, lines):
    return [line.replace("@", f"_{moment}").replace("'", f"_{moment + 1}") for line in lines]


def story(theory, things, rigid, phases, found=(), limit_s=60):
    """The steps of a history, as text; None if there is none.

    phases: (maximum of steps, actions, goal(now)); after each phase its goal is true. A goal's
    variable with the name of a thing means that thing.
    found: symbols that never change, with any values.
    """
    search = Search(theory, things, rigid)
    for symbol in found:
        constants = {args: search.one_of(symbol.result) for args in search.all_args(symbol)}
        search.rigid[symbol.name] = lambda *args, c=constants: c[args]
    state, declared = search.written("@", search.free_state)
    now = theory.before()
    search.lines += at(0, declared)
    for formula in theory.begins(now):
        search.lines += at(0, search.assertion(formula, {}, state))
    chosen = []
    names = {thing: thing for listed in things.values() for thing in listed}
    for length, actions, goal in phases:
        choices, lines = search.written("@", search.step, state, actions.split())
        for _ in range(length):
            moment = len(chosen)
            search.lines += at(moment + 1, declared) + at(moment, lines)
            chosen.append(dict(zip(at(moment, choices), choices.values())))
        search.lines += at(len(chosen), search.assertion(goal(now), names, state))
    asked = [choice for step in chosen for choice in step]
    search.lines += ["(check-sat)", f"(get-value ({' '.join(asked)}))"]
    _, out = Z3.ask("\n".join(search.lines) + "\n", limit_s)
    if out.startswith("unsat"):
        return None
    assert out.startswith("sat"), out
    words = out.replace("(", " ").replace(")", " ").split()[1:]
    taken = {name for name, so in zip(words[::2], words[1::2]) if so == "true"}
    return [
        f"{action} {' '.join(parameters.values())}"
        for step in chosen
        for choice, (action, parameters) in step.items()
        if choice in taken
    ]
