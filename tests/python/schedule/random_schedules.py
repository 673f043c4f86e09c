"""Draws random schedules and holds each to what scheduling promises.

    python random_schedules.py FIRST COUNT [--only PROGRAM] [--note FILE]

Each seed picks a program and tries some primitives on it with random arguments. A rejected primitive must leave the program
and the trace as they were. The result must compute what the program computed, through LLVM; its trace must do the same again,
from the instructions and from their JSON; its script must read back as the same program. A failure prints a program that
repeats it. The file of --note holds the case being run, for runs that crash.
"""

import argparse
import json
import random
import sys
import traceback

import numpy as np
import tessera as tvm
from random_programs import PROGRAMS, SIZES
from tessera import tir
from tessera.tir.schedule import Trace
from tessera.tir.schedule.testing import verify_trace_roundtrip

FACTORS = [1, 2, 3, 4, 5, 8]


class Failure(Exception):
    """A promise that does not hold."""


class Drawer:
    """Primitives with arguments drawn at random from what the schedule has now."""

    def __init__(self, sch, rng):
        self.sch, self.rng = sch, rng

    def block(self):
        blocks = list(self.sch.get_child_blocks(self.sch.get_block("root")))
        for block in blocks:
            blocks += self.sch.get_child_blocks(block)
        return self.sch.get_block(self.sch.get(self.rng.choice(blocks)).name_hint)

    def loops(self, block=None):
        return self.sch.get_loops(block or self.block()) or self.no_loops()

    def loop(self):
        return self.rng.choice(self.loops())

    def no_loops(self):
        raise LookupError("a block without loops")

    def extent(self, loop):
        extent = self.sch.get(loop).extent
        return int(extent) if isinstance(extent, tir.IntImm) else None

    def split(self):
        shape = self.rng.choice([[None, 0], [0, None], [None, 0, 0], [0, None, 0]])
        factors = [f if f is None else self.rng.choice(FACTORS) for f in shape]
        self.sch.split(self.loop(), factors, preserve_unit_iters=self.rng.random() < 0.7)

    def split_perfectly(self):
        loop = self.loop()
        self.sch.split(loop, self.sch.sample_perfect_tile(loop, self.rng.randint(2, 3)))

    def fuse(self):
        loops = self.loops()
        first = self.rng.randrange(len(loops))
        self.sch.fuse(*loops[first : first + self.rng.randint(2, 3)], preserve_unit_iters=self.rng.random() < 0.7)

    def reorder(self):
        loops = self.loops()
        self.sch.reorder(*self.rng.sample(loops, self.rng.randint(1, len(loops))))

    def parallel(self):
        self.sch.parallel(self.loop())

    def vectorize(self):
        loop = self.loops()[-1] if self.rng.random() < 0.7 else self.loop()
        if self.extent(loop) is not None:  # lanes are a constant number
            self.sch.vectorize(loop)

    def unroll(self):
        loop = self.loop()
        if (self.extent(loop) or 99) <= 8:
            self.sch.unroll(loop)

    def add_unit_loop(self):
        self.sch.add_unit_loop(self.rng.choice([self.loop, self.block])())

    def annotate(self):
        self.sch.annotate(self.rng.choice([self.loop, self.block])(), "note", self.rng.choice([1, "text", [1, 2]]))

    def compute_at(self):
        self.sch.compute_at(self.block(), self.loop(), self.rng.random() < 0.3, self.rng.choice([-1, -1, -2, 0, 1]))

    def reverse_compute_at(self):
        unit, index = self.rng.random() < 0.3, self.rng.choice([-1, -1, -2, 0, 1])
        self.sch.reverse_compute_at(self.block(), self.loop(), unit, index)

    def compute_at_sampled(self):
        block = self.block()
        self.sch.compute_at(block, self.sch.sample_compute_location(block))

    def compute_inline(self):
        self.sch.compute_inline(self.block())

    def reverse_compute_inline(self):
        self.sch.reverse_compute_inline(self.block())

    def cache_read(self):
        self.sch.cache_read(self.block(), self.rng.randint(0, 1), self.rng.choice(["global", "local"]))

    def cache_write(self):
        self.sch.cache_write(self.block(), 0, self.rng.choice(["global", "local"]))

    def decompose_reduction(self):
        block = self.block()
        self.sch.decompose_reduction(block, self.rng.choice(self.loops(block)))

    def rfactor(self):
        self.sch.rfactor(self.loop(), self.rng.randint(-1, 1))

    def blockize(self):
        self.sch.blockize(self.loop())

    def storage_align(self):
        self.sch.storage_align(self.block(), 0, -2, self.rng.choice([4, 8]), self.rng.choice([0, 3]))

    def set_scope(self):
        self.sch.set_scope(self.block(), 0, self.rng.choice(["local", "global", "shared"]))

    def reindex(self):
        self.sch.reindex(self.block(), self.rng.choice([("read", 0), ("read", 1), ("write", 0)]))

    def transform_layout(self):
        """Of a buffer inside the program: those of parameters are the caller's."""
        block = self.block()
        kind = self.rng.choice(["read", "write"])
        regions = getattr(self.sch.get(block), kind + "s")
        params = self.sch.mod["main"].buffer_map.values()
        own = [i for i, r in enumerate(regions) if not any(r.buffer.same_as(p) for p in params)] or self.no_loops()
        index = self.rng.choice(own)
        index_map = self.index_map(len(regions[index].buffer.shape))
        self.sch.transform_layout(block, (kind, index), index_map, self.rng.choice([None, 0, 7]))

    def transform_block_layout(self):
        block = self.block()
        self.sch.transform_block_layout(block, self.index_map(len(self.sch.get(block).iter_vars)))

    def index_map(self, ndim):
        """Axes in another order, one of them perhaps in two digits."""
        order = self.rng.sample(range(ndim), ndim) or self.no_loops()
        cut, factor = self.rng.choice([*order, None]), self.rng.choice(FACTORS)

        def mapped(*axes):
            parts = [[axes[i] // factor, axes[i] % factor] if i == cut else [axes[i]] for i in order]
            return [index for part in parts for index in part]

        return tir.IndexMap.from_func(mapped, ndim=ndim)

    def decompose_padding(self):
        block = self.block()
        self.sch.decompose_padding(block, self.rng.choice(self.loops(block)))

    def pad_einsum(self):
        block = self.block()
        self.sch.pad_einsum(block, [self.rng.choice([0, 0, 1, 3]) for _ in self.sch.get(block).iter_vars])

    def set_axis_separator(self):
        self.sch.set_axis_separator(self.block(), ("write", 0), [])


HELPERS = ("block", "loops", "loop", "no_loops", "extent", "index_map")
PRIMITIVES = [name for name in vars(Drawer) if not name.startswith("_") and name not in HELPERS]
LIKELY = [
    "split",
    "split_perfectly",
    "fuse",
    "reorder",
    "compute_at",
    "reverse_compute_at",
    "cache_read",
    "cache_write",
]


def step(sch, rng, counts):
    """Tries one primitive; an error must leave no trace."""
    name = rng.choice(PRIMITIVES + LIKELY)
    before, length = sch.mod, len(sch.trace.insts)
    try:
        getattr(Drawer(sch, rng), name)()
    except tir.ScheduleError:
        counts["rejected"] += 1
        if len(sch.trace.insts) > length and not all(i.kind.is_pure for i in list(sch.trace.insts)[length:]):
            return  # a sequence whose first primitives were taken
        if not tvm.ir.structural_equal(before, sch.mod):
            raise Failure(f"{name} was rejected and changed the program") from None
    except LookupError:  # no loops to choose from
        pass
    else:
        counts["taken"] += 1


def build(func):
    return tvm.build(func, target="llvm")


def arguments(func, sizes, seed):
    """One array per buffer: random numbers, which outputs lose."""
    rng = np.random.default_rng(seed)
    out = []
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = [int(s) if isinstance(s, tir.IntImm) else sizes[s.name] for s in buffer.shape]
        if str(buffer.dtype).startswith("float"):
            out.append(rng.standard_normal(shape).astype(buffer.dtype))
        else:
            values = (
                rng.permutation(np.prod(shape, dtype=int)) - 30
            )  # no two alike: a maximum may be found in any order
            out.append(values.reshape(shape).astype(buffer.dtype))
    return out


class Reference:
    """What the programs compute, each worked out once."""

    def __init__(self):
        self.known = {}

    def results(self, name, func):
        if name not in self.known:
            symbolic = any(not isinstance(s, tir.IntImm) for b in func.buffer_map.values() for s in b.shape)
            module = build(func)
            self.known[name] = [
                (sizes, run(module, arguments(func, sizes, 1))) for sizes in (SIZES if symbolic else SIZES[:1])
            ]
        return self.known[name]


def run(module, arrays):
    """The arrays after the call; each lies between two margins that must stay as they were."""
    margin, mark = 64, 77
    memory = [np.full(a.size + 2 * margin, mark, a.dtype) for a in arrays]
    views = [m[margin:-margin].reshape(a.shape) for m, a in zip(memory, arrays, strict=True)]
    for view, array in zip(views, arrays, strict=True):
        view[...] = array
    module(*[tvm.nd.from_dlpack(view) for view in views])
    for index, m in enumerate(memory):
        if (m[:margin] != mark).any() or (m[-margin:] != mark).any():
            raise Failure(f"it writes outside argument {index}")
    return views


def check(name, func, sch, reference, hashes):
    """Everything that is promised of a scheduled program."""
    again = tir.Schedule(func, error_render_level="none")
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    if not tvm.ir.structural_equal(sch.mod, again.mod):
        raise Failure("its trace does something else when it is applied again")
    once_more = tir.Schedule(func, error_render_level="none")
    Trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), once_more)
    if not tvm.ir.structural_equal(sch.mod, once_more.mod):
        raise Failure("the JSON of its trace does something else when it is applied")
    try:
        verify_trace_roundtrip(sch, func, debug_mask="none", text_format="python")
    except (AssertionError, ValueError, NameError) as error:
        raise Failure("its trace printed as Python does something else when it is run") from error
    script = sch.mod.script()
    if not tvm.ir.structural_equal(tvm.script.from_source(script), sch.mod):
        raise Failure("its script reads back as another program")
    key = (name, tvm.ir.structural_hash(sch.mod["main"]))
    if key in hashes:
        return False
    hashes.add(key)
    module = build(sch.mod["main"])
    for sizes, want in reference.results(name, func):
        for got, expected in zip(run(module, arguments(func, sizes, 1)), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=2e-4, atol=1e-4, err_msg=f"with sizes {sizes}")
    return True


def reproduction(name, sch):
    lines = [f"sch = tir.Schedule(PROGRAMS[{name!r}]())"] + list(sch.trace.simplified(False).as_python())
    return "\n".join(
        [
            "from random_programs import PROGRAMS",
            "from tessera import tir",
            "from tessera.tir import floordiv, floormod",
            "",
            *lines,
            "",
        ]
    )


def one_case(seed, only, reference, hashes, counts, note):
    rng = random.Random(seed)
    name = only or rng.choice(list(PROGRAMS))
    func = PROGRAMS[name]()
    sch = tir.Schedule(func, seed=seed % 2**31 + 1, error_render_level="none")
    try:
        for _ in range(rng.randint(1, 10)):
            step(sch, rng, counts)
        if note:
            with open(note, "w") as out:
                out.write(f"# seed {seed}\n{reproduction(name, sch)}")
        counts["run"] += check(name, func, sch, reference, hashes)
    except Exception:
        print(f"---- seed {seed}: {name} ----\n{reproduction(name, sch)}\n{traceback.format_exc()}", flush=True)
        counts["failed"] += 1


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--only")
    parser.add_argument("--note")
    parser.add_argument("--keep-going", action="store_true")
    args = parser.parse_args(argv)
    counts = {"rejected": 0, "taken": 0, "run": 0, "failed": 0}
    reference, hashes = Reference(), set()
    for seed in range(args.first, args.first + args.count):
        one_case(seed, args.only, reference, hashes, counts, args.note)
        if counts["failed"] >= 10 and not args.keep_going:
            break
    print(f"{args.count} schedules: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
