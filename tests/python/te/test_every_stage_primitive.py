"""Every primitive of TE schedules and stages: what it does to a small program, and what it rejects.

`DOES` and `REJECTS` have an entry for each; a primitive without one fails the test that compares them with the classes.
"""

import inspect

import numpy as np
import pytest
import tessera as tvm
from tessera import te, tir


class Program:
    """B = A + 1; C = sum of B over rows; D = C * 2"""

    def __init__(self):
        self.A = te.placeholder((16, 16), name="A")
        self.B = te.compute((16, 16), lambda i, j: self.A[i, j] + 1.0, name="B")
        self.k = te.reduce_axis((0, 16), name="k")
        self.C = te.compute((16,), lambda i: te.sum(self.B[i, self.k], axis=self.k), name="C")
        self.D = te.compute((16,), lambda i: self.C[i] * 2.0, name="D")
        self.s = te.create_schedule(self.D.op)

    def text(self):
        mod = tvm.lower(self.s, [self.A, self.D], simple_mode=True)
        return mod["main"].script()

    def result(self):
        a = np.arange(256, dtype="float32").reshape(16, 16) % 7
        out = tvm.nd.array(np.zeros(16, "float32"))
        tvm.build(self.s, [self.A, self.D], "llvm")(tvm.nd.array(a), out)
        return out.numpy(), 2 * (a + 1).sum(1)


def fill_intrin(size):
    """Adds one to `size` elements; written as a loop."""
    a = te.placeholder((size,), name="a")
    b = te.compute((size,), lambda i: a[i] + 1.0, name="b")
    buffers = {
        t: tir.decl_buffer(t.shape, t.dtype, name=t.name, offset_factor=1, strides=[te.var("s")]) for t in (a, b)
    }

    def compute(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, size, name="instruction") as i:
            ib.emit(outs[0].vstore([i], ins[0].vload([i]) + 1.0))
        return ib.get()

    return te.decl_tensor_intrin(b.op, compute, binds=buffers, name="add_one")


def transformed(p):
    p.s[p.B].transform_layout(lambda i, j: [j, i])


def grouped(p):
    group = p.s.create_group(outputs=p.C, inputs=p.A)
    group.compute_at(p.s[p.D], p.D.op.axis[0])


def fused_apart(p):
    outer, _ = p.s[p.B].split(p.B.op.axis[0], 4)
    p.s[p.B].fuse(outer, p.B.op.axis[1])


def rfactored(p):
    outer, _ = p.s[p.C].split(p.k, 4)
    p.s.rfactor(p.C, outer)


def own(p, stage="D"):
    return p.s[getattr(p, stage)]


#: What each does, by a piece of the lowered program; results are compared too where the program still runs on one thread.
DOES = {
    "normalize": (lambda p: p.s.normalize(), None),
    "create_group": (grouped, "for i in T.serial(16):"),
    "cache_read": (lambda p: p.s.cache_read(p.A, "local", [p.B]), "A_local"),
    "cache_write": (lambda p: p.s.cache_write(p.C, "local"), "C_local"),
    "rfactor": (rfactored, "C_rf"),
    "split": (lambda p: own(p).split(p.D.op.axis[0], 4), "T.grid(4, 4)"),
    "fuse": (lambda p: own(p, "B").fuse(*p.B.op.axis), "for i_j_fused in T.serial(256):"),
    "reorder": (lambda p: own(p, "B").reorder(p.B.op.axis[1], p.B.op.axis[0]), "for j, i in T.grid(16, 16):"),
    "tile": (
        lambda p: own(p, "B").tile(*p.B.op.axis, 4, 8),
        "for i_outer, j_outer, i_inner, j_inner in T.grid(4, 2, 4, 8):",
    ),
    "bind": (lambda p: own(p).bind(p.D.op.axis[0], te.thread_axis("threadIdx.x")), "T.launch_thread(threadIdx_x, 16)"),
    "compute_at": (
        lambda p: own(p, "B").compute_at(p.s[p.C], p.C.op.axis[0]),
        'B = T.allocate([16], "float32", "global")',
    ),
    "compute_inline": (lambda p: own(p, "B").compute_inline(), "+ (A["),
    "compute_root": (
        lambda p: (own(p, "B").compute_inline(), own(p, "B").compute_root()),
        'B = T.allocate([256], "float32", "global")',
    ),
    "vectorize": (lambda p: own(p).vectorize(p.D.op.axis[0]), "D[0:16] = C_1[0:16]"),
    "unroll": (lambda p: own(p).unroll(p.D.op.axis[0]), "D[15] = "),
    "parallel": (lambda p: own(p).parallel(p.D.op.axis[0]), "for i in T.parallel(16):"),
    "tensorize": (
        lambda p: own(p, "B").tensorize(p.B.op.axis[1], fill_intrin(16)),
        "for i, instruction in T.grid(16, 16):",
    ),
    "pragma": (lambda p: own(p).pragma(p.D.op.axis[0], "note", 3), '"pragma_note", 3)'),
    "prefetch": (lambda p: own(p, "B").prefetch(p.A, p.B.op.axis[0], 1), "T.prefetch("),
    "storage_align": (
        lambda p: own(p, "B").storage_align(p.B.op.axis[0], 32, 4),
        'B = T.allocate([576], "float32", "global")',
    ),
    "double_buffer": (
        lambda p: (own(p, "B").compute_at(p.s[p.C], p.C.op.axis[0]), own(p, "B").double_buffer()),
        "% 2 * 16",
    ),
    "rolling_buffer": (None, ""),  # test_rolling_buffer.py
    "set_scope": (lambda p: own(p, "C").set_scope("local"), 'C = T.allocate([16], "float32", "local")'),
    "env_threads": (None, ""),  # test_stage_marks.py
    "set_store_predicate": (lambda p: own(p).set_store_predicate(p.D.op.axis[0].var < 8), "if i < 8:"),
    "transform_layout": (transformed, "B_1["),
}

#: An illegal use of each and the rule that its error names; None where any argument of the right type is legal.
REJECTS = {
    "normalize": None,
    "create_group": (
        lambda p: p.s.create_group(outputs=p.A, inputs=p.A),
        "there is no stage between the inputs and the outputs",
    ),
    "cache_read": (lambda p: p.s.cache_read(p.A, "local", [p.D]), "Cannot find A in the inputs of D"),
    "cache_write": (
        lambda p: p.s.cache_write(p.A, "local"),
        "stage A is a PlaceholderOp; only a compute can be cached",
    ),
    "rfactor": (lambda p: p.s.rfactor(p.C, p.C.op.axis[0]), "Can only factor reduction axis; i of stage C is not one"),
    "split": (lambda p: own(p).split(p.D.op.axis[0]), "Either nparts or factor need to be provided"),
    "fuse": (fused_apart, "Can only fuse iterations that are consecutive between each other; i.outer and j are not"),
    "reorder": (
        lambda p: own(p, "B").reorder(p.B.op.axis[0], p.B.op.axis[0]),
        "Same axis can not appear more than once",
    ),
    "tile": (
        lambda p: own(p, "B").tile(p.C.op.axis[0], p.B.op.axis[1], 4, 4),
        "axis i is not part of this stage; its loops are i, j",
    ),
    "bind": (
        lambda p: own(p).bind(p.D.op.axis[0], p.D.op.axis[0]),
        "Cannot rebase by i, only thread axes can be bound to",
    ),
    "compute_at": (
        lambda p: own(p, "B").compute_at(p.s[p.C], p.B.op.axis[0]),
        "stage C: axis i is not part of this stage; its loops are i, k",
    ),
    "compute_inline": (
        lambda p: (own(p, "C").compute_inline(), p.text()),
        "stage C cannot be inlined: Reductions are only allowed at the top level",
    ),
    "compute_root": None,
    "vectorize": (lambda p: own(p).vectorize(p.C.op.axis[0]), "stage D: axis i is not part of this stage"),
    "unroll": (lambda p: own(p).unroll(p.C.op.axis[0]), "stage D: axis i is not part of this stage"),
    "parallel": (lambda p: own(p).parallel(p.C.op.axis[0]), "stage D: axis i is not part of this stage"),
    "tensorize": (
        lambda p: (own(p, "B").tensorize(p.B.op.axis[1], fill_intrin(8)), p.text()),
        r"Tensorize add_one does not fit: the extent of axis j \(16, declared 8\) differs",
    ),
    "pragma": (lambda p: own(p).pragma(p.C.op.axis[0], "note"), "stage D: axis i is not part of this stage"),
    "prefetch": (lambda p: own(p, "B").prefetch(p.A, p.C.op.axis[0], 1), "stage B: axis i is not part of this stage"),
    "storage_align": (
        lambda p: own(p, "B").storage_align(p.C.op.axis[0], 32, 4),
        "stage B: axis i is not part of this stage",
    ),
    "double_buffer": (lambda p: own(p).double_buffer(), "Cannot apply double buffer on output"),
    "rolling_buffer": (lambda p: own(p).rolling_buffer(), "Cannot apply rolling buffer on output"),
    "set_scope": None,
    "env_threads": (
        lambda p: own(p).env_threads([te.thread_axis("threadIdx.x")]),
        "only valid for composite ops such as ScanOp",
    ),
    "set_store_predicate": None,
    "transform_layout": (
        lambda p: (own(p, "B").split(p.B.op.axis[0], 4), own(p, "B").transform_layout(lambda i, j: [j, i])),
        "the loops of stage B were split, fused or reordered already; lay it out first",
    ),
}


def primitives():
    out = set()
    for kind in (te.Schedule, te.Stage):
        out |= {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    return out - {name for name, _ in inspect.getmembers(tvm.runtime.Object, inspect.isfunction)}


def test_each_primitive_is_in_both_tables():
    assert primitives() == set(DOES) == set(REJECTS)


@pytest.mark.parametrize("name", sorted(name for name, (use, _) in DOES.items() if use))
def test_a_primitive_does_what_it_says(name):
    use, piece = DOES[name]
    program = Program()
    use(program)
    if piece is not None:
        assert piece not in Program().text() or name in ("create_group", "compute_root", "transform_layout")
        assert piece in program.text()
    if name not in ("bind", "set_store_predicate"):
        got, wanted = program.result()
        np.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("name", sorted(name for name, entry in REJECTS.items() if entry))
def test_a_primitive_names_the_rule_and_leaves_the_schedule(name):
    use, message = REJECTS[name]
    program = Program()
    before = Program().text()
    with pytest.raises(Exception, match=message):
        use(program)
    if name not in (
        "compute_inline",
        "fuse",
        "tensorize",
        "transform_layout",
    ):  # these change it before what is rejected
        assert program.text() == before
