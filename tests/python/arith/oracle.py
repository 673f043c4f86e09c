"""Judges of integer analysis that share nothing with it: expressions on numbers in Python, and as formulas of Z3."""

import itertools
import random

from tessera import tir

I32 = "int32"


def floordiv(a, b):
    return a // b


def truncdiv(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_NUMBERS = {
    tir.Add: lambda a, b: a + b,
    tir.Sub: lambda a, b: a - b,
    tir.Mul: lambda a, b: a * b,
    tir.FloorDiv: floordiv,
    tir.FloorMod: lambda a, b: a % b,
    tir.Div: truncdiv,
    tir.Mod: lambda a, b: a - b * truncdiv(a, b),
    tir.Min: min,
    tir.Max: max,
    tir.EQ: lambda a, b: a == b,
    tir.NE: lambda a, b: a != b,
    tir.LT: lambda a, b: a < b,
    tir.LE: lambda a, b: a <= b,
    tir.GT: lambda a, b: a > b,
    tir.GE: lambda a, b: a >= b,
    tir.And: lambda a, b: a and b,
    tir.Or: lambda a, b: a or b,
}


def value(expr, point):
    """The value of an expression where its variables have the values of `point`."""
    if isinstance(expr, (bool, int)):
        return expr
    if isinstance(expr, tir.IntImm):
        return bool(expr.value) if expr.dtype == "bool" else int(expr.value)
    if isinstance(expr, tir.Var):
        return point[expr]
    if isinstance(expr, tir.Not):
        return not value(expr.a, point)
    if isinstance(expr, tir.Select):
        return value(expr.true_value if value(expr.condition, point) else expr.false_value, point)
    if isinstance(expr, tir.Cast):
        return int(value(expr.value, point))
    if isinstance(expr, tir.Call) and expr.op.name in ("tir.likely", "tir.if_then_else"):
        if expr.op.name == "tir.likely":
            return value(expr.args[0], point)
        return value(expr.args[1 if value(expr.args[0], point) else 2], point)
    if isinstance(expr, tir.Call) and expr.op.name in ("tir.shift_right", "tir.shift_left", "tir.bitwise_and"):
        a, b = (value(arg, point) for arg in expr.args)
        return {"tir.shift_right": a >> b, "tir.shift_left": a << b, "tir.bitwise_and": a & b}[expr.op.name]
    return _NUMBERS[type(expr)](value(expr.a, point), value(expr.b, point))


def points(domains):
    """All points of a box: ranges by variable."""
    names = list(domains)
    for values in itertools.product(*(domains[name] for name in names)):
        yield dict(zip(names, values))


def formula(expr, names):
    """The expression as a formula of Z3; `names` are its variables."""
    import z3

    def both(e):
        return formula(e.a, names), formula(e.b, names)

    if isinstance(expr, (bool, int)):
        return z3.BoolVal(expr) if isinstance(expr, bool) else z3.IntVal(expr)
    if isinstance(expr, tir.IntImm):
        return z3.BoolVal(bool(expr.value)) if expr.dtype == "bool" else z3.IntVal(int(expr.value))
    if isinstance(expr, tir.Var):
        return names[expr]
    if isinstance(expr, tir.Not):
        return z3.Not(formula(expr.a, names))
    if isinstance(expr, (tir.Select, tir.Call)):
        parts = expr.args if isinstance(expr, tir.Call) else (expr.condition, expr.true_value, expr.false_value)
        if len(parts) == 1:  # likely
            return formula(parts[0], names)
        return z3.If(*(formula(part, names) for part in parts))
    a, b = both(expr)
    if isinstance(expr, (tir.And, tir.Or)):
        return z3.And(a, b) if isinstance(expr, tir.And) else z3.Or(a, b)
    if isinstance(expr, (tir.EQ, tir.NE)):
        return a == b if isinstance(expr, tir.EQ) else a != b
    quotient = a / b  # Z3's remainder is never negative: for positive divisors the quotient is the floor
    if isinstance(expr, tir.FloorDiv):
        return z3.If(b > 0, quotient, (-a) / (-b))
    if isinstance(expr, tir.FloorMod):
        return a - b * z3.If(b > 0, quotient, (-a) / (-b))
    if isinstance(expr, (tir.Div, tir.Mod)):
        absolute = z3.If(a >= 0, a, -a) / z3.If(b >= 0, b, -b)
        truncated = z3.If((a < 0) == (b < 0), absolute, -absolute)
        return truncated if isinstance(expr, tir.Div) else a - b * truncated
    if isinstance(expr, tir.Min):
        return z3.If(a < b, a, b)
    if isinstance(expr, tir.Max):
        return z3.If(a > b, a, b)
    return _NUMBERS[type(expr)](a, b)


class Theorem:
    """What Z3 is asked: does a claim hold for all values of the variables in their domains?"""

    def __init__(self, domains):
        import z3

        self.names = {var: z3.Int(f"{var.name}{i}") for i, var in enumerate(domains)}
        self.assumed = []
        for var, values in domains.items():
            if values is not None:
                self.assumed += [self.names[var] >= values.start, self.names[var] < values.stop]

    def __call__(self, expr):
        return formula(expr, self.names)

    def counterexample(self, claim):
        """A point where the claim is false, or None; Z3 may give up after two seconds, which counts as none."""
        import z3

        solver = z3.Solver()
        solver.set("timeout", 2000)
        solver.add(*self.assumed, z3.Not(claim))
        return solver.model() if solver.check() == z3.sat else None


class Maker:
    """Random expressions over variables."""

    def __init__(self, seed, variables):
        self.rng, self.variables = random.Random(seed), variables

    def number(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            return rng.choice(self.variables) if rng.random() < 0.75 else tir.IntImm(I32, rng.randint(-9, 20))
        kind = rng.randrange(9)
        a = self.number(depth - 1)
        if kind < 3:
            b = self.number(depth - 1)
            return a + b if kind == 0 else a - b if kind == 1 else tir.min(a, b)
        if kind == 3:
            return tir.max(a, self.number(depth - 1))
        if kind == 4:
            return a * rng.choice([-3, -1, 2, 3, 4, 8, 16])
        divisor = rng.choice([2, 3, 4, 5, 8, 16])
        if kind == 8:
            return tir.Select(self.condition(depth - 1), a, self.number(depth - 1))
        return [tir.floordiv, tir.floormod, tir.truncdiv][kind - 5](a, divisor)

    def condition(self, depth):
        a, b = self.number(depth), self.number(depth)
        kind = self.rng.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE])
        return kind(a, b)
