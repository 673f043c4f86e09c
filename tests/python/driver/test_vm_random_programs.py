"""Random programs of the language (branches, closures, recursion, lists, references) do on the virtual machine what the
interpreter says they do."""

import random

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay.prelude import Prelude

INT = relay.scalar_type("int32")


class Programs:
    """Makes expressions of a type from the variables in scope. Values stay small: every sum is cut to ten bits."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.mod = tvm.IRModule()
        Prelude(self.mod)
        self.list_type, self.cons, self.nil = self.mod.get_type("List")
        self.ints = self.list_type(INT)
        self.pair = relay.TupleType([INT, INT])
        self.func = relay.FuncType([INT], INT)
        self.types = [INT, INT, INT, self.pair, self.func, self.ints]
        self.names = 0
        self.functions = []  # global functions (n, x) -> int that recur over n

    def fresh(self, of, kind="v"):
        self.names += 1
        return relay.var(f"{kind}{self.names}", type_annotation=of)

    def make(self, of, scope, depth):
        known = [var for var, type_ in scope if type_ is of]
        if depth <= 0 and known:
            return self.rng.choice(known)
        options = [self.leaf] if depth <= 0 else [self.leaf, self.let, self.branch, self.shape_of, self.shape_of]
        return self.rng.choice(options)(of, scope, depth - 1)

    def leaf(self, of, scope, depth):
        known = [var for var, type_ in scope if type_ is of]
        if known and self.rng.random() < 0.8:
            return self.rng.choice(known)
        if of is INT:
            return relay.const(self.rng.randrange(-5, 20))
        if of is self.pair:
            return relay.Tuple([self.leaf(INT, scope, 0), self.leaf(INT, scope, 0)])
        if of is self.ints:
            return self.cons(self.leaf(INT, scope, 0), self.nil()) if self.rng.random() < 0.7 else self.nil()
        x = self.fresh(INT)
        return relay.Function([x], self.cut(x + self.leaf(INT, scope, 0)), INT)

    def let(self, of, scope, depth):
        bound = self.rng.choice(self.types)
        var = self.fresh(bound)
        return relay.Let(var, self.make(bound, scope, depth), self.make(of, [*scope, (var, bound)], depth))

    def branch(self, of, scope, depth):
        condition = self.rng.choice([relay.less, relay.equal])(self.make(INT, scope, depth), self.make(INT, scope, 0))
        return relay.If(condition, self.make(of, scope, depth), self.make(of, scope, depth))

    def cut(self, value):
        return relay.bitwise_and(value, relay.const(1023))

    def shape_of(self, of, scope, depth):
        """Something that only values of this type have."""
        rng = self.rng
        if of is INT:
            kind = rng.randrange(8)
            if kind < 2:
                op = rng.choice([relay.add, relay.subtract, relay.multiply])
                return self.cut(op(self.make(INT, scope, depth), self.make(INT, scope, depth)))
            if kind == 2:
                return relay.TupleGetItem(self.make(self.pair, scope, depth), rng.randrange(2))
            if kind == 3:
                return relay.Call(self.make(self.func, scope, depth), [self.make(INT, scope, depth)])
            if kind == 4:
                return self.matched(scope, depth)
            if kind == 5 and self.functions:
                return relay.Call(
                    rng.choice(self.functions), [relay.const(rng.randrange(6)), self.make(INT, scope, depth)]
                )
            if kind == 6:
                return self.counted(scope, depth)
            return self.remembered(scope, depth)
        if of is self.pair:
            return relay.Tuple([self.make(INT, scope, depth), self.make(INT, scope, depth)])
        if of is self.ints:
            if rng.random() < 0.5:
                return self.cons(self.make(INT, scope, depth), self.make(self.ints, scope, depth))
            return self.mod.get_global_var("map")(
                self.make(self.func, scope, depth), self.make(self.ints, scope, depth)
            )
        x = self.fresh(INT)
        return relay.Function([x], self.make(INT, [*scope, (x, INT)], depth), INT)

    def matched(self, scope, depth):
        head, tail = self.fresh(INT), self.fresh(self.ints)
        inner = [*scope, (head, INT), (tail, self.ints)]
        pattern = relay.PatternConstructor(self.cons, [relay.PatternVar(head), relay.PatternVar(tail)])
        clauses = [
            relay.Clause(pattern, self.make(INT, inner, depth)),
            relay.Clause(relay.PatternWildcard(), self.make(INT, scope, depth)),
        ]
        return relay.Match(self.make(self.ints, scope, depth), clauses)

    def counted(self, scope, depth):
        """A loop: a closure that calls itself."""
        loop, n, total = relay.var("loop"), self.fresh(INT), self.fresh(INT)
        inner = [*scope, (n, INT), (total, INT)]
        step = self.cut(total + self.make(INT, inner, min(depth, 1)))
        again = relay.Call(loop, [n - relay.const(1), step])
        body = relay.If(relay.less(n, relay.const(1)), total, again)
        start = [relay.const(self.rng.randrange(5)), self.make(INT, scope, depth)]
        return relay.Let(loop, relay.Function([n, total], body, INT), relay.Call(loop, start))

    def remembered(self, scope, depth):
        """A reference that is read, written and read again, the order given by lets."""
        ref, before, done = self.fresh(relay.RefType(INT), "r"), self.fresh(INT), self.fresh(relay.TupleType([]), "u")
        inner = [*scope, (before, INT)]
        written = relay.RefWrite(ref, self.make(INT, inner, depth))
        value = self.cut(relay.RefRead(ref) + before)
        return relay.Let(
            ref,
            relay.RefCreate(self.make(INT, scope, depth)),
            relay.Let(before, relay.RefRead(ref), relay.Let(done, written, value)),
        )

    def program(self):
        for i in range(self.rng.randrange(3)):
            n, x = self.fresh(INT), self.fresh(INT)
            name = relay.GlobalVar(f"f{i}")
            recur = relay.Call(name, [n - relay.const(1), self.make(INT, [(x, INT)], 2)])
            body = relay.If(relay.less(n, relay.const(1)), self.make(INT, [(x, INT)], 2), self.cut(recur + x))
            self.mod[name] = relay.Function([n, x], body, INT)
            self.functions.append(name)
        a, b = self.fresh(INT), self.fresh(INT)
        scope = [(a, INT), (b, INT)]
        results = [self.make(INT, scope, 5), self.make(self.pair, scope, 3), self.make(self.ints, scope, 3)]
        self.mod["main"] = relay.Function([a, b], relay.Tuple(results))
        return self.mod


def plain(value):
    """A result as nested lists of numbers and tags."""
    if hasattr(value, "numpy"):
        return int(value.numpy())
    fields = value.fields if isinstance(value, relay.backend.interpreter.ConstructorValue) else list(value)
    return [value.tag, *(plain(field) for field in fields)]


def check_seed(seed):
    mod = Programs(seed).program()
    args = [np.array(seed % 7, "int32"), np.array(3, "int32")]
    want = relay.create_executor("debug", mod, tvm.cpu(), "llvm").evaluate()(*args)
    for level in (0, 3):
        with tvm.transform.PassContext(opt_level=level):
            got = relay.create_executor("vm", mod, tvm.cpu(), "llvm").evaluate()(*args)
        assert plain(got) == plain(want), f"level {level}\n{mod['main']}"


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program(seed):
    check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_random_programs(block):
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        check_seed(seed)
