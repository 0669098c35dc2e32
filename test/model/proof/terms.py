"""First-order formulas with sorts, built in Python, printed as SMT-LIB 2 and as TPTP (TFF).

    Node = Sort("node")
    n = Var("n", Node)
    up = Symbol("up", Node)             a relation: its result is BOOL
    every(n)(up(n) | ~up(n))            & | ~ == != and implies() build formulas

"==" of two terms is a formula, so Python code compares terms by `text()`. Like all comparisons it
binds less than "&", and needs parentheses.
"""


class Sort:
    def __init__(self, name):
        self.name = name


BOOL = Sort("Bool")
REAL = Sort("Real")
INT = Sort("Int")


class Term:
    """head: a Symbol, or the name of a connective; bound: the variables of a quantifier."""

    __hash__ = object.__hash__

    def __init__(self, head, parts=(), sort=BOOL, bound=()):
        self.head, self.parts, self.sort, self.bound = head, parts, sort, bound

    def __and__(self, other):
        return Term("and", (self, other))

    def __or__(self, other):
        return Term("or", (self, other))

    def __invert__(self):
        return Term("not", (self,))

    def __eq__(self, other):
        return Term("=", (self, other))

    def __ne__(self, other):
        return ~(self == other)

    def __add__(self, other):
        return Term("+", (self, other), self.sort)

    def __sub__(self, other):
        return Term("-", (self, other), self.sort)

    def __mul__(self, other):
        return Term("*", (self, other), self.sort)

    def __le__(self, other):
        return Term("<=", (self, other))

    def __lt__(self, other):
        return Term("<", (self, other))

    def __bool__(self):
        raise TypeError("a formula is neither true nor false in Python")


class Symbol:
    """A function or relation; without arguments a constant. `result` is the sort of a function's
    result: Symbol("f", A, result=B)."""

    def __init__(self, name, *domain, result=BOOL):
        self.name, self.domain, self.result = name, domain, result

    def __call__(self, *args):
        assert len(args) == len(self.domain), self.name
        for arg, sort in zip(args, self.domain):
            assert arg.sort is sort, f"{self.name}: {arg.sort.name} for {sort.name}"
        return Term(self, args, self.result)


def Var(name, sort):
    return Term("var", (name,), sort)


def Const(name, sort):
    return Symbol(name, result=sort)()


TRUE = Term("true")
FALSE = Term("false")


def every(*variables):
    return lambda body: Term("forall", (body,), BOOL, variables)


def some(*variables):
    return lambda body: Term("exists", (body,), BOOL, variables)


def implies(premise, conclusion):
    return Term("=>", (premise, conclusion))


def given(condition, then, otherwise):
    return Term("ite", (condition, then, otherwise), then.sort)


def conjunction(formulas):
    formulas = list(formulas)
    return Term("and", tuple(formulas)) if formulas else TRUE


def number(value, sort):
    return Term("number", (value,), sort)


def whole(term):
    """An integer as a real."""
    return Term("to_real", (term,), REAL)


def symbols(term, found=None):
    """All symbols of a term, by name."""
    found = {} if found is None else found
    if isinstance(term.head, Symbol):
        found[term.head.name] = term.head
    for part in term.parts:
        if isinstance(part, Term):
            symbols(part, found)
    return found


def sorts_of(found):
    own = {s.name: s for f in found.values() for s in (*f.domain, f.result)}
    return [own[name] for name in sorted(own) if own[name] not in (BOOL, REAL, INT)]


# -- SMT-LIB 2 --


def text(term):
    head = term.head
    if isinstance(head, Symbol):
        name = head.name
    elif head == "var":
        return term.parts[0]
    elif head == "number":
        return f"{term.parts[0]}" + (".0" if term.sort is REAL else "")
    elif head in ("forall", "exists"):
        bound = " ".join(f"({v.parts[0]} {v.sort.name})" for v in term.bound)
        return f"({head} ({bound}) {text(term.parts[0])})"
    else:
        name = head
    return f"({name} {' '.join(text(part) for part in term.parts)})" if term.parts else name


def smt_header(formulas):
    found = {}
    for formula in formulas:
        symbols(formula, found)
    yield "(set-logic ALL)"
    for sort in sorts_of(found):
        yield f"(declare-sort {sort.name} 0)"
    for symbol in found.values():
        domain = " ".join(sort.name for sort in symbol.domain)
        yield f"(declare-fun {symbol.name} ({domain}) {symbol.result.name})"


def smt(hypotheses, goal):
    """unsat means: the goal follows."""
    lines = list(smt_header([*hypotheses, goal]))
    lines += [f"(assert {text(formula)})" for formula in hypotheses]
    lines += [f"(assert (not {text(goal)}))", "(check-sat)"]
    return "\n".join(lines) + "\n"


# -- TPTP --


def lifted(term):
    """The formula without conditional terms: f(c ? a : b) is (c => f(a)) & (~c => f(b))."""
    if term.head in ("forall", "exists"):
        return Term(term.head, (lifted(term.parts[0]),), BOOL, term.bound)
    if term.head in ("and", "or", "not", "=>") or (
        term.head in ("=", "ite") and term.parts[-1].sort is BOOL
    ):
        return Term(term.head, tuple(lifted(part) for part in term.parts))
    cases = first_case(term)
    if cases is None:
        return term
    condition, then, otherwise = (lifted(part) for part in cases)
    return Term("ite", (condition, then, otherwise))


def first_case(term):
    """(condition, term if it holds, term if not) for the first conditional in a term, or None."""
    if term.head == "ite":
        return term.parts
    for i, part in enumerate(term.parts):
        cases = first_case(part) if isinstance(part, Term) else None
        if cases is not None:
            condition, *both = cases
            return (
                condition,
                *(
                    Term(term.head, (*term.parts[:i], one, *term.parts[i + 1 :]), term.sort)
                    for one in both
                ),
            )
    return None


def tff(term):
    head, parts = term.head, term.parts
    if head == "var":
        return "V_" + parts[0]
    if isinstance(head, Symbol):
        name = "f_" + head.name
        return f"{name}({','.join(tff(part) for part in parts)})" if parts else name
    if head in ("forall", "exists"):
        bound = ",".join(f"{tff(v)}: s_{v.sort.name}" for v in term.bound)
        return f"({'!' if head == 'forall' else '?'}[{bound}]: {tff(parts[0])})"
    if head in ("true", "false"):
        return "$" + head
    inner = [tff(part) for part in parts]
    if head == "not":
        return f"~({inner[0]})"
    if head == "ite":
        return f"(({inner[0]} => {inner[1]}) & (~({inner[0]}) => {inner[2]}))"
    if head == "=" and parts[0].sort is BOOL:
        return f"({inner[0]} <=> {inner[1]})"
    return "(" + {"and": " & ", "or": " | ", "=>": " => ", "=": " = "}[head].join(inner) + ")"


def tptp(hypotheses, goal):
    """Theorem means: the goal follows."""
    found = {}
    for formula in [*hypotheses, goal]:
        symbols(formula, found)
    own = {BOOL: "$o", **{sort: "s_" + sort.name for sort in sorts_of(found)}}
    lines = [f"tff(t_{s.name}, type, s_{s.name}: $tType)." for s in sorts_of(found)]
    for symbol in found.values():
        domain = " * ".join(own[sort] for sort in symbol.domain)
        domain = {0: "", 1: f"{domain} > "}.get(len(symbol.domain), f"({domain}) > ")
        lines.append(f"tff(d_{symbol.name}, type, f_{symbol.name}: {domain}{own[symbol.result]}).")
    for i, formula in enumerate(hypotheses):
        lines.append(f"tff(h_{i}, axiom, {tff(lifted(formula))}).")
    lines.append(f"tff(goal, conjecture, {tff(lifted(goal))}).")
    return "\n".join(lines) + "\n"
