"""Random tensor programs with random legal schedules, each as the text of a Python program.

The text builds `s` (the schedule), `args` (its arguments) and, beside it, `want` (the answer by NumPy); running it again
gives the same program. Values are small int32, so answers are compared exactly.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import tessera
from tessera import te

HEAD = "import numpy as np\nimport tessera\nfrom tessera import te, tir\n"


class Program:
    """One random program; `text` reproduces it."""

    def __init__(self, seed: int, threads: bool = False):
        self.random = random.Random(seed)
        self.has_threads = threads
        self.lines: list[str] = []
        self.env: dict[str, Any] = {"np": np, "tessera": tessera, "te": te, "tir": tessera.tir}
        self.tensors: list[str] = []  # names of computed tensors, in order
        self.shapes: dict[str, list[str]] = {}  # dimensions as text, over n and m where symbolic
        self.sizes: dict[str, list[int]] = {}
        self.readers: dict[str, list[str]] = {}
        self.reductions: set[str] = set()
        self.dependent: set[str] = set()  # a reduce axis depends on a spatial one
        self.inputs: list[str] = []
        self.attached: dict[str, tuple[str, int]] = {}
        self.vectorized: set[str] = set()  # nothing is attached to their innermost loop
        self.count = 0
        self.line(f"rng = np.random.RandomState({seed % 2**31})")
        self.is_symbolic = self.random.random() < 0.3
        self.dims = {"n": self.random.randint(1, 9), "m": self.random.randint(1, 7)}
        for name, value in self.dims.items():
            kind = self.random.choice(["var", "size_var"])
            self.line(f"{name} = te.{kind}('{name}')  # {value}" if self.is_symbolic else f"{name} = {value}")
        self.graph()
        self.schedule()

    @property
    def text(self) -> str:
        """The program, to be run by Python."""
        return HEAD + "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        self.lines.append(text)
        exec(text, self.env)

    # ---- the graph ----

    def fresh(self) -> str:
        self.count += 1
        return f"T{self.count}"

    def add_input(self, shape: list[str], sizes: list[int]) -> str:
        name = self.fresh()
        self.line(f"{name} = te.placeholder(({', '.join(shape)},), dtype='int32', name='{name}')")
        self.line(f"{name}_np = rng.randint(-9, 10, {tuple(sizes)}).astype('int32')")
        self.note(name, shape, sizes, [])
        self.tensors.remove(name)
        self.inputs.append(name)
        return name

    def note(self, name: str, shape: list[str], sizes: list[int], reads: list[str]) -> None:
        assert list(self.env[f"{name}_np"].shape) == sizes, self.text
        self.shapes[name], self.sizes[name], self.readers[name] = shape, sizes, []
        self.tensors.append(name)
        for read in reads:
            if name not in self.readers[read]:
                self.readers[read].append(name)

    def add(self, name: str, shape: list[str], sizes: list[int], compute: str, numpy: str, reads: list[str]) -> bool:
        axes = [f"i{k}" for k in range(len(shape))]
        self.line(f"{name} = te.compute(({', '.join(shape)},), lambda {', '.join(axes)}: {compute}, name='{name}')")
        self.line(f"{name}_np = ({numpy}).astype('int32')")
        self.note(name, shape, sizes, reads)
        return True

    def pick(self) -> str:
        """A tensor to read, rather a recent one."""
        names = self.inputs + self.tensors
        return names[-1] if self.random.random() < 0.6 else self.random.choice(names)

    def graph(self) -> None:
        dims = [("n", self.dims["n"]), ("m", self.dims["m"]), ("4", 4), ("5", 5)]
        for _ in range(self.random.randint(1, 2)):
            chosen = [self.random.choice(dims) for _ in range(self.random.randint(1, 3))]
            self.add_input([text for text, _ in chosen], [size for _, size in chosen])
        kinds = [self.elementwise] * 2 + [self.binary, self.transpose, self.stencil, self.reduction, self.reduction]
        kinds += [self.matmul, self.pad, self.reverse, self.flatten, self.repeat, self.triangle, self.every_second]
        for _ in range(self.random.randint(1, 5)):
            for _ in range(10):
                if self.random.choice(kinds)():
                    break
        if not self.tensors:
            self.elementwise()

    def axes(self, name: str) -> list[str]:
        return [f"i{k}" for k in range(len(self.shapes[name]))]

    def elementwise(self) -> bool:
        a = self.pick()
        form = self.random.choice(["{0} * 2 + 1", "te.max({0}, 0)", "{0} - 3", "te.floordiv({0}, 2)", "0 - {0}"])
        numpy_form = form.replace("te.max", "np.maximum").replace("te.floordiv", "np.floor_divide")
        at = f"{a}[{', '.join(self.axes(a))}]"
        return self.add(self.fresh(), self.shapes[a], self.sizes[a], form.format(at), numpy_form.format(f"{a}_np"), [a])

    def binary(self) -> bool:
        a = self.pick()
        same = [b for b in self.inputs + self.tensors if self.shapes[b] == self.shapes[a] and b != a]
        if not same:
            return False
        b = self.random.choice(same)
        op = self.random.choice("+-*")
        at = f"[{', '.join(self.axes(a))}]"
        body = f"{a}{at} {op} {b}{at}"
        return self.add(self.fresh(), self.shapes[a], self.sizes[a], body, f"{a}_np {op} {b}_np", [a, b])

    def transpose(self) -> bool:
        a = self.pick()
        if len(self.shapes[a]) < 2:
            return False
        order = list(range(len(self.shapes[a])))
        self.random.shuffle(order)
        at = [f"i{order.index(k)}" for k in range(len(order))]
        shape, sizes = [self.shapes[a][k] for k in order], [self.sizes[a][k] for k in order]
        numpy = f"{a}_np.transpose({tuple(order)})"
        return self.add(self.fresh(), shape, sizes, f"{a}[{', '.join(at)}]", numpy, [a])

    def stencil(self) -> bool:
        a = self.pick()
        k = self.random.randrange(len(self.shapes[a]))
        width = self.random.randint(1, 2)
        if self.sizes[a][k] <= width or (self.is_symbolic and not self.shapes[a][k].isdigit()):
            return False
        shape, sizes = list(self.shapes[a]), list(self.sizes[a])
        sizes[k] -= width
        shape[k] = str(sizes[k])
        reads, parts = [], []
        for shift in range(width + 1):
            at = self.axes(a)
            at[k] += f" + {shift}"
            reads.append(f"{a}[{', '.join(at)}]")
            where = ", ".join([":"] * k + [f"{shift}:{shift + sizes[k]}"])
            parts.append(f"{a}_np[{where}]")
        return self.add(self.fresh(), shape, sizes, " + ".join(reads), " + ".join(parts), [a])

    def reduction(self) -> bool:
        a = self.pick()
        if len(self.shapes[a]) < 2:
            return False
        k = self.random.randrange(len(self.shapes[a]))
        name = self.fresh()
        reducer = self.random.choice(["sum", "max", "min"])
        self.line(f"{name}_k = te.reduce_axis((0, {self.shapes[a][k]}), name='k{self.count}')")
        at = [f"i{i if i < k else i - 1}" if i != k else f"{name}_k" for i in range(len(self.shapes[a]))]
        self.reductions.add(name)
        return self.add(
            name,
            [d for i, d in enumerate(self.shapes[a]) if i != k],
            [d for i, d in enumerate(self.sizes[a]) if i != k],
            f"te.{reducer}({a}[{', '.join(at)}], axis={name}_k)",
            f"np.{reducer}({a}_np, axis={k})",
            [a],
        )

    def matmul(self) -> bool:
        twos = [b for b in self.inputs + self.tensors if len(self.shapes[b]) == 2]
        pairs = [(x, y) for x in twos for y in twos if self.shapes[x][1] == self.shapes[y][0]]
        if not pairs:
            return False
        a, b = self.random.choice(pairs)
        name = self.fresh()
        self.line(f"{name}_k = te.reduce_axis((0, {self.shapes[a][1]}), name='k{self.count}')")
        self.reductions.add(name)
        shape, sizes = [self.shapes[a][0], self.shapes[b][1]], [self.sizes[a][0], self.sizes[b][1]]
        body = f"te.sum({a}[i0, {name}_k] * {b}[{name}_k, i1], axis={name}_k)"
        return self.add(name, shape, sizes, body, f"{a}_np @ {b}_np", [a, b])

    def pad(self) -> bool:
        a = self.pick()
        k = self.random.randrange(len(self.shapes[a]))
        shape, sizes = list(self.shapes[a]), list(self.sizes[a])
        extent = shape[k]
        sizes[k] += 3
        shape[k] = str(sizes[k]) if extent.isdigit() else f"{extent} + 3"
        at = self.axes(a)
        at[k] += " - 1"
        inside = f"te.all(i{k} >= 1, i{k} < {extent} + 1)"
        body = f"te.if_then_else({inside}, {a}[{', '.join(at)}], tir.const(7, 'int32'))"
        widths = [(1, 2) if i == k else (0, 0) for i in range(len(sizes))]
        return self.add(self.fresh(), shape, sizes, body, f"np.pad({a}_np, {widths}, constant_values=7)", [a])

    def reverse(self) -> bool:
        a = self.pick()
        k = self.random.randrange(len(self.shapes[a]))
        at = self.axes(a)
        at[k] = f"{self.shapes[a][k]} - 1 - i{k}"
        body = f"{a}[{', '.join(at)}]"
        return self.add(self.fresh(), self.shapes[a], self.sizes[a], body, f"np.flip({a}_np, {k})", [a])

    def flatten(self) -> bool:
        a = self.pick()
        if len(self.shapes[a]) != 2:
            return False
        rows, width = self.shapes[a]
        size = self.sizes[a][0] * self.sizes[a][1]
        shape = str(size) if rows.isdigit() and width.isdigit() else f"({rows}) * ({width})"
        body = f"{a}[te.floordiv(i0, {width}), te.floormod(i0, {width})]"
        return self.add(self.fresh(), [shape], [size], body, f"{a}_np.reshape(-1)", [a])

    def repeat(self) -> bool:
        a = self.pick()
        shape, sizes = list(self.shapes[a]), list(self.sizes[a])
        if sizes[0] > 12:
            return False
        sizes[0] *= 2
        shape[0] = str(sizes[0]) if shape[0].isdigit() else f"({shape[0]}) * 2"
        at = self.axes(a)
        at[0] = "te.floordiv(i0, 2)"
        body = f"{a}[{', '.join(at)}]"
        return self.add(self.fresh(), shape, sizes, body, f"np.repeat({a}_np, 2, axis=0)", [a])

    def triangle(self) -> bool:
        a = self.pick()
        if len(self.shapes[a]) != 1:
            return False
        name = self.fresh()
        self.line(
            f"def {name}_body(i0):\n"
            f"    k = te.reduce_axis((0, i0 + 1), name='k{self.count}')\n"
            f"    return te.sum({a}[k], axis=k)"
        )
        self.line(f"{name} = te.compute(({self.shapes[a][0]},), {name}_body, name='{name}')")
        self.line(f"{name}_np = np.cumsum({a}_np).astype('int32')")
        self.note(name, self.shapes[a], self.sizes[a], [a])
        self.reductions.add(name)
        self.dependent.add(name)
        return True

    def every_second(self) -> bool:
        a = self.pick()
        size = self.sizes[a][-1]
        if size < 2 or not self.shapes[a][-1].isdigit():
            return False
        sizes, shape = [*self.sizes[a][:-1], size // 2], [*self.shapes[a][:-1], str(size // 2)]
        at = self.axes(a)
        at[-1] += " * 2 + 1"
        return self.add(self.fresh(), shape, sizes, f"{a}[{', '.join(at)}]", f"{a}_np[..., 1::2]", [a])

    # ---- the schedule ----

    def schedule(self) -> None:
        outputs = [t for t in self.tensors if not self.readers[t]]
        used = [t for t in self.inputs if self.readers[t]]
        self.line(f"s = te.create_schedule([{', '.join(f'{t}.op' for t in outputs)}])")
        self.stages = list(self.tensors)
        if self.random.random() < 0.3:
            self.cache_read(self.random.choice(used + [t for t in self.tensors if self.readers[t]]))
        for t in reversed(list(self.stages)):
            self.schedule_stage(t, t in outputs)
        self.line(f"args = [{', '.join(used + outputs)}]")
        self.line(f"given = [{', '.join(f'{t}_np' for t in used)}]")
        self.line(f"want = [{', '.join(f'{t}_np' for t in outputs)}]")

    def cache_read(self, t: str) -> None:
        name = f"{t}_c"
        readers = list(self.readers[t])
        if self.random.random() < 0.3:
            readers = [self.random.choice(readers)]
        self.line(f"{name} = s.cache_read({t}, 'global', [{', '.join(readers)}])")
        self.readers[name] = readers
        self.readers[t] = [r for r in self.readers[t] if r not in readers] + [name]
        self.stages.insert(min(self.stages.index(r) for r in readers), name)

    def last(self, t: str) -> int:
        """The innermost loop that something may be attached to."""
        return len(self.leaves(t)) - 1 - (t in self.vectorized)

    def leaves(self, t: str) -> list[Any]:
        return list(self.env["s"][self.env[t]].leaf_iter_vars)

    def has_attached(self, t: str) -> bool:
        return any(at == t for at, _ in self.attached.values())

    def put_between(self, name: str, t: str) -> None:
        """`name` now reads what `t` read, and is read by it."""
        for producer, readers in self.readers.items():
            if t in readers:
                self.readers[producer] = [name if r == t else r for r in readers]
        self.readers[name] = [t]

    def schedule_stage(self, t: str, is_output: bool) -> None:
        choice = self.random.random()
        if not is_output:
            if t not in self.reductions and choice < 0.25:
                self.line(f"s[{t}].compute_inline()")
                for producer, readers in self.readers.items():
                    if t in readers:
                        self.readers[producer] = list(dict.fromkeys([r for r in readers if r != t] + self.readers[t]))
                return
            if choice < 0.75:
                self.attach(t)
        if self.random.random() < 0.2 and not t.endswith("_c"):
            self.cache_write(t)
        elif t in self.reductions and t not in self.dependent and self.random.random() < 0.3:
            self.rfactor(t)
        self.transform(t)

    def attach(self, t: str) -> None:
        readers = self.readers[t]
        parents = {self.attached[r][0] if r in self.attached else r for r in readers}
        if len(readers) == 1 and self.random.random() < 0.7:
            parent, last = readers[0], self.last(readers[0])
        elif len(parents) == 1 and parents.isdisjoint(self.attached):
            # all readers lie in loops of one stage: attach outside of where they are attached
            parent = next(iter(parents))
            positions = [self.attached[r][1] for r in readers if r in self.attached]
            last = min([*positions, self.last(parent)])
        else:
            return
        if last >= 0:
            self.attach_at(t, parent, self.random.randint(0, last))

    def attach_at(self, t: str, parent: str, position: int) -> None:
        self.line(f"s[{t}].compute_at(s[{parent}], s[{parent}].leaf_iter_vars[{position}])")
        self.attached[t] = (parent, position)

    def cache_write(self, t: str) -> None:
        if self.has_attached(t):
            return
        if t not in self.reductions and self.random.random() < 0.5:
            self.transform(t)
        name = f"{t}_w"
        self.line(f"{name} = s.cache_write({t}, 'global')")
        self.put_between(name, t)
        for kind in (self.reductions, self.dependent):
            if t in kind:
                kind.discard(t)
                kind.add(name)
        if self.leaves(t) and self.random.random() < 0.6:
            self.attach_at(name, t, self.random.randrange(len(self.leaves(t))))
        self.transform(name)

    def rfactor(self, t: str) -> None:
        if self.has_attached(t):
            return
        factor = self.random.randint(1, 4)
        self.line(f"{t}_o, {t}_i = s[{t}].split(s[{t}].op.reduce_axis[0], factor={factor})")
        name = f"{t}_f"
        axis = self.random.randint(0, len(self.shapes[t]))
        self.line(f"{name} = s.rfactor({t}, {t}_{self.random.choice('oi')}, {axis})")
        self.put_between(name, t)
        self.reductions.add(name)
        if self.random.random() < 0.5:
            self.attach_at(name, t, self.random.randrange(len(self.leaves(t))))
        self.transform(name)

    def transform(self, t: str) -> None:
        """Splits, fuses, reorders and marks loops; not those that something is attached to by position."""
        if self.has_attached(t):
            return
        for _ in range(self.random.randint(0, 3)):
            leaves = self.leaves(t)
            if not leaves:
                return
            at = self.random.randrange(len(leaves))
            kind = self.random.choice(["factor", "nparts", "fuse", "reorder"])
            if kind in ("factor", "nparts"):
                self.line(f"s[{t}].split(s[{t}].leaf_iter_vars[{at}], {kind}={self.random.randint(1, 6)})")
            elif t in self.dependent:
                continue
            elif kind == "fuse" and at + 1 < len(leaves):
                self.line(f"s[{t}].fuse(s[{t}].leaf_iter_vars[{at}], s[{t}].leaf_iter_vars[{at + 1}])")
            elif kind == "reorder" and len(leaves) > 1:
                order = list(range(len(leaves)))
                self.random.shuffle(order)
                self.line(f"s[{t}].reorder(*[s[{t}].leaf_iter_vars[p] for p in {order}])")
        self.mark(t)

    def bind(self, t: str) -> None:
        """Runs the outer loops of a stage by threads of its own."""
        if t in self.attached or self.random.random() < 0.3:
            return
        for at, (leaf, tag) in enumerate(zip(self.leaves(t), ["blockIdx.x", "threadIdx.x"])):
            if leaf.iter_type != 0:
                return
            self.line(f"s[{t}].bind(s[{t}].leaf_iter_vars[{at}], te.thread_axis('{tag}'))")

    def mark(self, t: str) -> None:
        """Says how some loops run."""
        leaves = self.leaves(t)
        if self.has_threads:
            self.bind(t)
            return
        has_constant_loops = not self.is_symbolic and t not in self.attached and t not in self.dependent
        if leaves and has_constant_loops:
            if self.random.random() < 0.3:
                self.line(f"s[{t}].unroll(s[{t}].leaf_iter_vars[{len(leaves) - 1}])")
            elif self.random.random() < 0.4 and leaves[-1].iter_type == 0:
                self.line(f"s[{t}].vectorize(s[{t}].leaf_iter_vars[{len(leaves) - 1}])")
                self.vectorized.add(t)
        if len(leaves) > 1 and leaves[0].iter_type == 0 and t not in self.attached and self.random.random() < 0.2:
            self.line(f"s[{t}].parallel(s[{t}].leaf_iter_vars[0])")


def check(program: Program, call: Any) -> None:
    """Calls with the arguments and compares with NumPy; an error ends with the text that reproduces it."""
    env = program.env
    try:
        results = [np.full(want.shape, -77, "int32") for want in env["want"]]
        tensors = [tessera.nd.array(array) for array in [*env["given"], *results]]
        call(env["s"], env["args"], tensors)
        for want, got in zip(env["want"], tensors[len(env["given"]) :]):
            np.testing.assert_array_equal(got.numpy(), want)
    except Exception as error:
        raise AssertionError(f"{error}\n\nreproduce with:\n{program.text}") from error


def run(program: Program) -> None:
    """Interprets phase 0 of the program, which checks every access against the realised rectangle."""
    to_prim_func = tessera.get_global_func("te.ScheduleToPrimFunc")
    interpret = tessera.get_global_func("tir.Interpret")
    check(program, lambda s, args, tensors: interpret(to_prim_func(s, args, "main", {}), *tensors))


def run_blocks(program: Program) -> None:
    """Interprets the function of blocks that computes the same graph."""
    interpret = tessera.get_global_func("tir.Interpret")
    check(program, lambda s, args, tensors: interpret(te.create_prim_func(args), *tensors))


def run_compiled(program: Program) -> None:
    """Compiles the program and runs it."""
    check(program, lambda s, args, tensors: tessera.build(s, args, "llvm")(*tensors))
