"""Random PrimFuncs over the whole of what scripts can say; nothing here needs to make sense when run."""

import random

import numpy as np
import tessera as tvm
from tessera import ir, tir

INTS = ("int32", "int32", "int32", "int64", "int8", "uint8", "uint16", "int16")
FLOATS = ("float32", "float16", "float64")
NAMES = (
    "i",
    "j",
    "x",
    "A",
    "A.shared",
    "in",
    "lambda",
    "T",
    "_x",
    "0",
    "a-b",
    "i_1",
    "",
    "data",
    "None",
    "n",
    "if_",
    "é",
)
MATH = ("exp", "tanh", "sqrt", "floor", "log")
THREADS = ("threadIdx.x", "threadIdx.y", "blockIdx.x", "vthread", "vthread.x")


class Generator:
    """Makes expressions and statements from what is in scope."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.vars: list = []  # in scope
        self.buffers: list = []
        self.threads: list = []  # may be launched again
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return self.r.choice(NAMES) if self.r.random() < 0.6 else f"v{self.count}"

    # ---- expressions

    def const(self, dtype: str):
        if dtype == "bool":
            return tir.IntImm("bool", self.r.randint(0, 1))
        if dtype.startswith("float"):
            value = self.r.choice([0.0, 1.0, -2.5, 0.1, 1e-30, -0.0, 3.0e4, float("inf"), float("-inf"), float("nan")])
            return tir.FloatImm(dtype, value)
        low = 0 if dtype.startswith("u") else -3
        extreme = {"int64": 2**40, "int32": 2**20}.get(dtype, 100)
        return tir.IntImm(dtype, self.r.choice([low, 0, 1, 2, 7, extreme]))

    def leaf(self, dtype: str):
        known = [v for v in self.vars if v.dtype == dtype]
        if known and self.r.random() < 0.6:
            return self.r.choice(known)
        return self.const(dtype)

    def load(self, dtype: str, depth: int):
        known = [b for b in self.buffers if b.dtype == dtype]
        if not known:
            return self.leaf(dtype)
        buffer = self.r.choice(known)
        return tir.BufferLoad(buffer, [self.expr(e.dtype, depth - 1) for e in buffer.shape])

    def expr(self, dtype: str = "int32", depth: int = 3):
        r = self.r
        if depth <= 0 or dtype == "handle":
            return self.leaf(dtype)
        if dtype == "bool":
            return self.condition(depth)
        choice = r.random()
        a = lambda: self.expr(dtype, depth - 1)
        if choice < 0.45:
            kinds = [tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max, tir.Div]
            kinds += [] if dtype.startswith("float") else [tir.FloorDiv, tir.FloorMod, tir.Mod]
            return r.choice(kinds)(a(), a())
        if choice < 0.6:
            return self.load(dtype, depth)
        if choice < 0.68:
            return tir.Cast(dtype, self.expr(r.choice(INTS + FLOATS + ("bool",)), depth - 1))
        if choice < 0.75:
            return tir.Select(self.condition(depth - 1), a(), a())
        if choice < 0.8:
            return tir.Call(dtype, ir.Op.get("tir.if_then_else"), [self.condition(depth - 1), a(), a()])
        if choice < 0.85:
            var = tir.Var(self.name(), r.choice(INTS + FLOATS))
            value = self.expr(var.dtype, depth - 1)
            self.vars.append(var)
            body = a()
            self.vars.remove(var)
            return tir.Let(var, value, body)
        if choice < 0.9 and dtype.startswith("float"):
            return tir.Call(dtype, ir.Op.get("tir." + r.choice(MATH)), [a()])
        if choice < 0.9:
            op = r.choice(("bitwise_and", "shift_left", "bitwise_xor", "bitwise_not"))
            return tir.Call(dtype, ir.Op.get("tir." + op), [a()] if op == "bitwise_not" else [a(), a()])
        if choice < 0.95:
            text = r.choice(("f", 'say "hi"', "a\\b", "two\nlines", "tab\t", "ünï", "'", "\x01"))
            return tir.Call(dtype, ir.Op.get("tir.call_extern"), [tir.StringImm(text), a(), self.leaf("bool")])
        lanes = r.choice((2, 4))
        return tir.Shuffle([self.vector(dtype, lanes, depth - 1)], [tir.IntImm("int32", r.randrange(lanes))])

    def condition(self, depth: int):
        r = self.r
        if depth <= 0:
            return self.leaf("bool")
        choice = r.random()
        if choice < 0.5:
            dtype = r.choice(INTS + FLOATS + ("bool",))
            kinds = [tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE]
            return r.choice(kinds)(self.expr(dtype, depth - 1), self.expr(dtype, depth - 1))
        if choice < 0.8:
            return r.choice([tir.And, tir.Or])(self.condition(depth - 1), self.condition(depth - 1))
        if choice < 0.95:
            return tir.Not(self.condition(depth - 1))
        return tir.Call("bool", ir.Op.get("tir.likely"), [self.condition(depth - 1)])

    def vector(self, dtype: str, lanes: int, depth: int):
        if not dtype.startswith("float") and self.r.random() < 0.4:
            return tir.Ramp(self.expr(dtype, depth - 1), self.leaf(dtype), lanes)
        if depth > 0 and self.r.random() < 0.4:
            kind = self.r.choice([tir.Add, tir.Mul, tir.Max])
            return kind(self.vector(dtype, lanes, depth - 1), self.vector(dtype, lanes, depth - 1))
        return tir.Broadcast(self.expr(dtype, depth - 1), lanes)

    # ---- buffers

    def buffer(self, scope: str = "global", data=None, dtype=None, shape=None):
        r = self.r
        dtype = dtype or r.choice(("float32", "float32", "int32", "float16", "int8", "bool", "int64"))
        index = r.choice(("int32", "int32", "int64"))
        if shape is None:
            shape = [self.extent(index) for _ in range(r.choice((0, 1, 1, 2, 2, 3)))]
        options: dict = {"data": data}
        if data is None and r.random() < 0.1:
            options["data"] = tir.Var(
                self.name(), ir.PointerType(ir.PrimType("int8"), "" if scope == "global" else scope)
            )
        if r.random() < 0.2:
            options["strides"] = [self.extent(index) for _ in shape]
        if r.random() < 0.2:
            options["elem_offset"] = self.extent(index)
        if r.random() < 0.2:
            options["offset_factor"] = r.choice((1, 4))
        if r.random() < 0.2:
            options["data_alignment"] = r.choice((8, 128))
        if r.random() < 0.1 and shape:
            options["buffer_type"] = "auto_broadcast"
        if r.random() < 0.1 and len(shape) > 1:
            options["axis_separators"] = [1]
        return tir.decl_buffer(shape, dtype, self.name(), scope=scope if data is None else "", **options)

    def extent(self, dtype: str = "int32"):
        known = [v for v in self.vars if v.dtype == dtype]
        if known and self.r.random() < 0.2:
            return self.r.choice(known)
        if self.r.random() < 0.15:
            return tir.Var(self.name(), dtype) if self.r.random() < 0.5 else tir.SizeVar(self.name(), dtype)
        return tir.IntImm(dtype, self.r.choice((1, 4, 8, 16)))

    def region(self, buffer):
        ranges = []
        for extent in buffer.shape:
            low = self.expr(extent.dtype, 1)
            size = self.r.choice((tir.IntImm(extent.dtype, 1), tir.IntImm(extent.dtype, 4), self.expr(extent.dtype, 1)))
            ranges.append(ir.Range.from_min_extent(low, size))
        return tir.BufferRegion(buffer, ranges)

    # ---- statements

    def within(self, make, variables=(), buffers=()):
        """What `make` gives while more is in scope."""
        known = len(self.vars), len(self.buffers)
        self.vars += variables
        self.buffers += buffers
        result = make()
        del self.vars[known[0] :], self.buffers[known[1] :]
        return result

    def without_loads(self, make, buffers):
        """What `make` gives while only `buffers` are in scope."""
        inside, self.buffers = self.buffers, list(buffers)
        result = make()
        self.buffers = inside
        return result

    def body(self, depth: int):
        known = len(self.vars), len(self.buffers)
        parts = [self.stmt(depth) for _ in range(self.r.choice((1, 1, 2, 3)))]
        del self.vars[known[0] :], self.buffers[known[1] :]
        return parts[0] if len(parts) == 1 else tir.SeqStmt(parts)

    def store(self, depth: int = 2):
        if not self.buffers:
            return tir.Evaluate(self.expr("int32", depth))
        buffer = self.r.choice(self.buffers)
        indices = [self.expr(e.dtype, depth - 1) for e in buffer.shape]
        if indices and buffer.dtype != "bool" and self.r.random() < 0.25:
            lanes = self.r.choice((2, 4, 8))
            stride = tir.IntImm(indices[-1].dtype, self.r.choice((1, 1, 2, -1, 0)))
            indices[-1] = tir.Ramp(indices[-1], stride, lanes)
            return tir.BufferStore(buffer, self.vector(buffer.dtype, lanes, depth - 1), indices)
        return tir.BufferStore(buffer, self.expr(buffer.dtype, depth), indices)

    def annotations(self):
        if self.r.random() < 0.7:
            return {}
        some = {
            "pragma_x": 1,
            "text": 'a"b',
            "imm": tir.StringImm("s"),
            "list": [1, "two", tir.IntImm("int64", 3)],
            "map": {"k": tir.FloatImm("float32", 0.5), "flag": tir.IntImm("bool", 1)},
            "five": 5,
            "six": tvm.target.Target("llvm"),
        }
        keys = self.r.sample(sorted(some), self.r.randint(1, len(some)))
        return {key: some[key] for key in keys}

    def loop(self, depth: int):
        r = self.r
        dtype = r.choice(("int32", "int32", "int32", "int64"))
        var = tir.Var(self.name(), dtype)
        low = tir.IntImm(dtype, 0) if r.random() < 0.7 else self.expr(dtype, 1)
        extent = tir.IntImm(dtype, r.choice((1, 8))) if r.random() < 0.7 else self.expr(dtype, 2)
        kind = r.choice((0, 0, 0, 0, 1, 2, 3, 4))
        thread = None
        if kind == 4:
            thread = tir.IterVar(None, tir.Var("", dtype), tir.IterVar.ThreadIndex, r.choice(THREADS[:3]))
        body = self.within(lambda: self.body(depth - 1), [var])
        return tir.For(var, low, extent, kind, body, thread, self.annotations())

    def block(self, depth: int):
        r = self.r
        axes, values = [], []
        for _ in range(r.choice((0, 1, 2, 3))):
            dtype = r.choice(("int32", "int32", "int64"))
            low = tir.IntImm(dtype, 0) if r.random() < 0.8 else self.expr(dtype, 1)
            dom = ir.Range.from_min_extent(low, self.expr(dtype, r.choice((0, 1))))
            axes.append(tir.IterVar(dom, tir.Var(self.name(), dtype), r.choice((0, 0, 2, 3, 4))))
            values.append(self.expr(dtype, 1))
        predicate = tir.IntImm("bool", 1) if r.random() < 0.7 else self.condition(2)
        allocs = [self.buffer(r.choice(("global", "shared"))) for _ in range(r.choice((0, 0, 1)))]
        inside = [axis.var for axis in axes]

        outer = list(self.buffers)

        def make():
            reads = self.without_loads(lambda: [self.region(b) for b in r.sample(outer, min(len(outer), 1))], outer)
            matches = []
            if outer and r.random() < 0.3:
                source = self.without_loads(lambda: self.region(r.choice(outer)), outer)
                view = self.buffer(
                    source.buffer.scope(), dtype=source.buffer.dtype, shape=[part.extent for part in source.region]
                )
                matches = [tir.MatchBufferRegion(view, source)]
                self.buffers.append(view)
            init = self.store() if r.random() < 0.3 else None
            return reads, matches, init, self.body(depth - 1)

        reads, matches, init, body = self.within(make, inside, allocs)
        name = r.choice(("B", "root", "", 'q"uote'))
        block = tir.Block(axes, reads, reads[:1], name, body, init, allocs, matches, self.annotations())
        return tir.BlockRealize(values, predicate, block)

    def launch(self, depth: int):
        if self.threads and self.r.random() < 0.3:
            thread = self.r.choice(self.threads)
        else:
            tag = self.r.choice(THREADS)
            dom = self.r.choice((None, ir.Range(0, 8)))
            thread = tir.IterVar(dom, tir.Var(self.r.choice((tag, "tx")), "int32"), 1, tag)
            self.threads.append(thread)
        key = "virtual_thread" if thread.thread_tag.startswith("vthread") else "thread_extent"
        body = self.within(lambda: self.body(depth - 1), [thread.var])
        return tir.AttrStmt(thread, key, self.expr("int32", 1), body)

    def attribute(self, depth: int):
        nodes = [None, "default", tir.StringImm("imm"), tir.IntImm("int32", 3), *self.buffers[:2], *self.vars[:2]]
        node = self.r.choice([n for n in nodes if n is not None])
        value = self.r.choice((tir.StringImm("v"), self.expr("int32", 1)))
        return tir.AttrStmt(node, self.r.choice(("pragma_x", "key")), value, self.body(depth - 1))

    def allocate(self, depth: int):
        r = self.r
        dtype, scope = r.choice(("float32", "int8", "int64", "float16")), r.choice(("global", "shared", "local"))
        element = dtype if r.random() < 0.8 else "int8"
        pointer = tir.Var(self.name(), ir.PointerType(ir.PrimType(element), "" if scope == "global" else scope))
        views = [self.buffer(data=pointer, dtype=dtype) for _ in range(r.choice((1, 1, 2)))]
        extents = [tir.IntImm("int32", 16)] * r.choice((1, 2))
        condition = tir.IntImm("bool", 1) if r.random() < 0.8 else self.condition(1)
        body = self.within(lambda: self.body(depth - 1), [], views)
        choice = r.random()
        if choice < 0.2:
            body = tir.DeclBuffer(views[0], body)
        if choice > 0.9:
            whole = tir.decl_buffer([4, 4], dtype, self.name(), scope=scope)
            inner = self.within(lambda: self.body(depth - 1), [], [whole])
            declared = tir.DeclBuffer(whole, inner)
            return tir.Allocate(whole.data, dtype, [4, 4], tir.IntImm("bool", 1), declared)
        if choice > 0.8 and element == dtype:
            content = np.arange(16 ** len(extents)).reshape([16] * len(extents)) % 7
            tensor = tvm.nd.array(content.astype(dtype))
            pointer_type = ir.PointerType(ir.PrimType(dtype))
            pointer = tir.Var(self.name(), pointer_type)
            view = self.buffer(data=pointer, dtype=dtype)
            body = self.within(lambda: self.body(depth - 1), [], [view])
            return tir.AllocateConst(pointer, dtype, extents, tensor, body, self.annotations())
        return tir.Allocate(pointer, dtype, extents, condition, body, self.annotations())

    def realize(self, depth: int):
        buffer = self.buffer(self.r.choice(("global", "shared")))
        bounds = self.region(buffer).region
        body = self.within(lambda: self.body(depth - 1), [], [buffer])
        condition = tir.IntImm("bool", 1) if self.r.random() < 0.8 else self.condition(1)
        stmt = tir.BufferRealize(buffer, bounds, condition, body)
        if self.r.random() < 0.5:
            return tir.AttrStmt(buffer, "realize_scope", tir.StringImm("shared"), stmt)
        return stmt

    def let(self, depth: int):
        if self.r.random() < 0.2:
            var = tir.Var(self.name(), ir.PointerType(ir.PrimType("float32"), self.r.choice(("", "shared"))))
            value = tir.Call("handle", ir.Op.get("tir.call_extern"), [tir.StringImm("ptr")])
            view = self.buffer(data=var, dtype="float32")
            return tir.LetStmt(var, value, self.within(lambda: self.body(depth - 1), [], [view]))
        dtype = self.r.choice(INTS + FLOATS + ("bool",))
        var, value = tir.Var(self.name(), dtype), self.expr(dtype, 2)
        return tir.LetStmt(var, value, self.within(lambda: self.body(depth - 1), [var]))

    def stmt(self, depth: int):
        r = self.r
        if depth <= 0:
            return self.store() if r.random() < 0.8 else tir.Evaluate(self.expr(r.choice(INTS), 2))
        kind = r.choice(
            [
                "loop",
                "loop",
                "loop",
                "block",
                "block",
                "if",
                "while",
                "let",
                "let",
                "assert",
                "attr",
                "launch",
                "allocate",
                "allocate",
                "realize",
                "store",
            ]
        )
        if kind == "if":
            otherwise = self.body(depth - 1) if r.random() < 0.5 else None
            return tir.IfThenElse(self.condition(2), self.body(depth - 1), otherwise)
        if kind == "while":
            return tir.While(self.condition(2), self.body(depth - 1))
        if kind == "assert":
            return tir.AssertStmt(self.condition(2), tir.StringImm('why\n"not"'), self.body(depth - 1))
        if kind == "attr":
            return self.attribute(depth)
        if kind == "store":
            return self.store(3)
        return getattr(self, kind)(depth)

    # ---- functions

    def function(self):
        r = self.r
        params, buffer_map, preflattened = [], {}, {}
        for _ in range(r.choice((0, 1, 2, 3))):
            choice = r.random()
            if choice < 0.5:
                buffer = self.buffer()
                param = tir.Var(self.name(), "handle")
                buffer_map[param] = buffer
                self.buffers.append(buffer)
                if r.random() < 0.2:
                    preflattened[param] = self.buffer(data=buffer.data, dtype=buffer.dtype)
            elif choice < 0.8:
                param = tir.Var(self.name(), r.choice(INTS + FLOATS + ("bool", "handle", "float32x4")))
                self.vars.append(param)
            else:
                param = tir.Var(self.name(), ir.PointerType(ir.PrimType("float32"), r.choice(("", "shared"))))
                view = self.buffer(data=param, dtype="float32")
                self.buffers.append(view)
                if r.random() < 0.5:
                    buffer_map[param] = view
            params.append(param)
        ret = r.choice((None, None, ir.PrimType("int32"), ir.PointerType(ir.PrimType("int8"))))
        attrs = ir.make_node("DictAttrs", **self.annotations())
        body = self.body(r.choice((1, 2, 3, 4)))
        if r.random() < 0.3:
            root = tir.Block([], [], [], r.choice(("root", "main")), body, None, [self.buffer()])
            body = tir.BlockRealize([], tir.IntImm("bool", 1), root)
        return tir.PrimFunc(params, body, ret, buffer_map, preflattened, attrs)


def random_function(seed: int):
    return Generator(seed).function()
