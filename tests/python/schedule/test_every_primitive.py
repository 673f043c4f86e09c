"""Every primitive of tir.Schedule: what it does to a small program, and what it rejects.

`DOES` and `REJECTS` have an entry for each primitive; a primitive without one fails the test that compares them with the
table of instructions.
"""

# ruff: noqa: F821 - names inside scripts

import inspect

import pytest
import tessera as tvm
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir.schedule import Trace

#: Methods of a schedule that look or keep house and have no instruction.
OTHERS = {"copy", "fork_seed", "get", "get_sref", "remove_rv", "seed", "show", "work_on", "can_decompose_padding"}
QUERIES = {"get_block", "get_child_blocks", "get_consumers", "get_loops", "get_producers", "enter_postproc"}


def program():
    """P = A with a border of zeros; C = P @ B; D = C + 1"""
    a, b = te.placeholder((14, 16), name="A"), te.placeholder((16, 16), name="B")
    p = te.compute(
        (16, 16),
        lambda i, j: tir.if_then_else(te.all(i >= 1, i < 15), a[i - 1, j], tir.const(0.0, "float32")),
        name="P",
    )
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(p[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, te.compute((16, 16), lambda i, j: c[i, j] + 1.0, name="D")])


@T.prim_func
def fill_desc(a: T.handle) -> None:
    A = T.match_buffer(a, (16,), offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(A[0:16])
        for i in range(16):
            with T.block("fill"):
                vi = T.axis.spatial(16, i)
                A[vi] = 7.0


tir.TensorIntrin.register("test_every_primitive.fill", fill_desc, fill_desc, override=True)


def loops(sch, block):
    return sch.get_loops(block)


def split_then_bound(sch):
    i = loops(sch, "D")[0]
    sch.bind(i, "threadIdx.x")
    sch.split(i, [None, 4])


def dead_loop(sch):
    i = loops(sch, "D")[0]
    sch.split(i, [None, 4])
    return i


def inline_backwards(sch):
    """P has one consumer when its copy is what C reads."""
    copy = sch.cache_read("C", 0, "global")
    sch.reverse_compute_inline(copy)


def annotated_and_not(sch):
    block = sch.get_block("D")
    sch.annotate(block, "kept", 1)
    sch.annotate(block, "gone", 1)
    sch.unannotate(block, "gone")


def padded(sch):
    sch.cache_read("C", 1, "global")
    sch.pad_einsum("C", [4, 4, 4])


def reindexed_outside(sch):
    sch.blockize(loops(sch, "D")[1])
    sch.reindex("D_o", ("write", 0))


def located_after_inlining(sch):
    block = sch.get_block("P")
    sch.compute_inline(block)
    sch.sample_compute_location(block)


#: What a primitive does, by a line that the script has afterwards and had not before.
DOES = {
    "add_unit_loop": (lambda s: s.add_unit_loop(s.get_block("D")), "for i0, i1, u in T.grid(16, 16, 1):"),
    "annotate": (lambda s: s.annotate(s.get_block("D"), "note", 1), 'T.block_attr({"note":1})'),
    "bind": (lambda s: s.bind(loops(s, "D")[0], "blockIdx.x"), 'T.thread_binding(16, thread="blockIdx.x")'),
    "blockize": (lambda s: s.blockize(loops(s, "D")[1]), 'with T.block("D_o"):'),
    "cache_read": (
        lambda s: s.cache_read("C", 1, "local"),
        'B_local = T.alloc_buffer([16, 16], dtype="float32", scope="local")',
    ),
    "cache_write": (lambda s: s.cache_write("D", 0, "local"), "D[v0, v1] = D_local[v0, v1]"),
    "compute_at": (lambda s: s.compute_at("P", loops(s, "C")[0]), "for ax0 in T.serial(16):"),
    "compute_inline": (lambda s: s.compute_inline("P"), "T.if_then_else(1 <= i and i < 15, A[i - 1, k]"),
    "decompose_padding": (lambda s: s.decompose_padding("P", loops(s, "P")[0]), 'with T.block("P_pad_const"):'),
    "decompose_reduction": (lambda s: s.decompose_reduction("C", loops(s, "C")[2]), 'with T.block("C_init"):'),
    "fuse": (lambda s: s.fuse(*loops(s, "D")), "for i0_i1_fused in T.serial(256):"),
    "pad_einsum": (padded, "alloc_buffer([20, 20]"),
    "parallel": (lambda s: s.parallel(loops(s, "D")[0]), "for i0 in T.parallel(16):"),
    "reindex": (lambda s: s.reindex("D", ("write", 0)), "D_reindex"),
    "reorder": (lambda s: s.reorder(*reversed(loops(s, "D"))), "for i1, i0 in T.grid(16, 16):"),
    "reverse_compute_at": (lambda s: s.reverse_compute_at("D", loops(s, "C")[0]), "for ax0 in T.serial(16):"),
    "reverse_compute_inline": (inline_backwards, "P_global[i, j] = T.if_then_else"),
    "rfactor": (lambda s: s.rfactor(loops(s, "C")[2], 0), 'with T.block("C_rf"):'),
    "sample_categorical": (
        lambda s: s.annotate(s.get_block("D"), "v", s.sample_categorical([3], [1.0])),
        'T.block_attr({"v":3})',
    ),
    "sample_compute_location": (
        lambda s: s.compute_at("P", s.sample_compute_location("P", decision=0)),
        "for ax0 in T.serial(16):",
    ),
    "sample_perfect_tile": (
        lambda s: s.split(loops(s, "D")[0], s.sample_perfect_tile(loops(s, "D")[0], 2, decision=[4, 4])),
        "for i0_0, i0_1, i1 in T.grid(4, 4, 16):",
    ),
    "set_axis_separator": (lambda s: s.set_axis_separator("C", ("write", 0), [1]), "axis_separators=[1]"),
    "set_scope": (lambda s: s.set_scope("C", 0, "shared"), 'scope="shared"'),
    "split": (lambda s: s.split(loops(s, "D")[0], [None, 4]), "for i0_0, i0_1, i1 in T.grid(4, 4, 16):"),
    "storage_align": (lambda s: s.storage_align("C", 0, 0, 32, 4), '"buffer_dim_align":[[0, 0, 32, 4]]'),
    "tensorize": (None, ""),  # test_a_loop_becomes_an_instruction
    "transform_block_layout": (
        lambda s: s.transform_block_layout("D", lambda i, j: (i * 16 + j,)),
        "T.axis.spatial(256, ax0)",
    ),
    "transform_layout": (lambda s: s.transform_layout("C", ("write", 0), lambda i, j: (j, i)), "C[j, i]"),
    "unannotate": (annotated_and_not, 'T.block_attr({"kept":1})'),
    "unroll": (lambda s: s.unroll(loops(s, "D")[1]), "for i1 in T.unroll(16):"),
    "vectorize": (lambda s: s.vectorize(loops(s, "D")[1]), "for i1 in T.vectorized(16):"),
}

#: An illegal use of each and the rule that its error names.
REJECTS = {
    "add_unit_loop": (lambda s: s.add_unit_loop(dead_loop(s)), "The loop no longer exists"),
    "annotate": (lambda s: s.annotate(dead_loop(s), "k", 1), "The loop no longer exists"),
    "bind": (lambda s: s.bind(loops(s, "C")[2], "blockIdx.x"), 'axis k of block "C".*is not a data parallel'),
    "blockize": (lambda s: s.blockize(dead_loop(s)), "The loop no longer exists"),
    "cache_read": (lambda s: s.cache_read("C", 2, "local"), "has 2 read regions, so there is none of index 2"),
    "cache_write": (lambda s: s.cache_write("D", 0, "nowhere"), 'storage scope "nowhere" is invalid'),
    "compute_at": (lambda s: s.compute_at("D", loops(s, "C")[0]), 'The block "D" is an output block'),
    "compute_inline": (lambda s: s.compute_inline("C"), 'block "C" has an init statement'),
    "decompose_padding": (
        lambda s: s.decompose_padding("D", loops(s, "D")[0]),
        'block "D" does not pad: it must store',
    ),
    "decompose_reduction": (lambda s: s.decompose_reduction("D", loops(s, "D")[0]), '"D" is not a reduction block'),
    "fuse": (lambda s: s.fuse(loops(s, "C")[0], loops(s, "C")[2]), "i0 is not the parent of the inner loop i2"),
    "pad_einsum": (lambda s: s.pad_einsum("C", [8, 8]), "has 3 axes, so it takes as many paddings, not 2"),
    "parallel": (lambda s: s.parallel(loops(s, "C")[2]), "is not a data parallel block iter"),
    "reindex": (reindexed_outside, 'block "D_o" has a block inside, "D"'),
    "reorder": (lambda s: s.reorder(loops(s, "C")[0], loops(s, "D")[0]), "not in a chain"),
    "reverse_compute_at": (lambda s: s.reverse_compute_at("D", loops(s, "C")[2]), "still accumulates"),
    "reverse_compute_inline": (lambda s: s.reverse_compute_inline("D"), "single producer block"),
    "rfactor": (lambda s: s.rfactor(loops(s, "C")[0], 0), "spatial axis i of block"),
    "sample_categorical": (lambda s: s.sample_categorical([1, 2], [1.0]), "2 candidates and 1 probabilities"),
    "sample_compute_location": (located_after_inlining, "The block no longer exists"),
    "sample_perfect_tile": (lambda s: s.sample_perfect_tile(dead_loop(s), 2), "The loop no longer exists"),
    "set_axis_separator": (
        lambda s: s.set_axis_separator("C", ("write", 0), [5]),
        "from 0 to 2, the rank of C; 5 is not",
    ),
    "set_scope": (lambda s: s.set_scope("D", 0, "shared"), "is not allocated by a block"),
    "split": (split_then_bound, "loop i0 is bound to threadIdx.x; split it before binding"),
    "storage_align": (lambda s: s.storage_align("C", 0, 5, 32, 4), "axis 5 is not one of the 2 axes of buffer C"),
    "tensorize": (
        lambda s: s.tensorize(loops(s, "D")[0], "test_every_primitive.fill"),
        'does not do what tensor intrinsic "test_every_primitive.fill" describes',
    ),
    "transform_block_layout": (
        lambda s: s.transform_block_layout("D", lambda i, j: (i,)),
        "must be one to one on the axes",
    ),
    "transform_layout": (lambda s: s.transform_layout("C", ("write", 0), lambda i, j: (i,)), "must keep each element"),
    "unannotate": (lambda s: s.unannotate(s.get_block("D"), "nothing"), "Cannot find annotation key: nothing"),
    "unroll": (lambda s: s.unroll(dead_loop(s)), "The loop no longer exists"),
    "vectorize": (lambda s: s.vectorize(loops(s, "C")[2]), "is not a data parallel block iter"),
}


def primitives():
    public = {name for name, _ in inspect.getmembers(tir.Schedule, inspect.isfunction) if not name.startswith("_")}
    return public - OTHERS - QUERIES


def test_each_primitive_is_in_both_tables():
    assert primitives() == set(DOES) == set(REJECTS)


@pytest.mark.parametrize("name", sorted(name for name, (use, _) in DOES.items() if use))
def test_a_primitive_does_what_it_says(name):
    use, line = DOES[name]
    sch = tir.Schedule(program())
    assert line not in sch.mod.script()
    use(sch)
    assert line in sch.mod.script()
    again = tir.Schedule(program())
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)


@pytest.mark.parametrize("name", sorted(REJECTS))
def test_a_primitive_names_the_rule_and_leaves_the_program(name):
    use, message = REJECTS[name]
    sch = tir.Schedule(program(), seed=1)
    run = sch._run
    states = []

    def watched(kind, *args, **kwargs):
        states.append((kind, sch.mod, len(sch.trace.insts)))
        return run(kind, *args, **kwargs)

    sch._run = watched
    with pytest.raises(Exception, match=f"(?s){message}"):
        use(sch)
    kind, before, length = states[-1]
    assert kind.lower() == name.replace("_", "")
    tvm.ir.assert_structural_equal(sch.mod, before)
    assert len(sch.trace.insts) == length


@T.prim_func
def sevens(A: T.Buffer[(4, 16), "float32"]) -> None:
    for i, j in T.grid(4, 16):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = 7.0


@T.prim_func
def fill_call(a: T.handle) -> None:
    A = T.match_buffer(a, (16,), offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(A[0:16])
        T.evaluate(T.call_extern("fill_sevens", A.access_ptr("w"), dtype="int32"))


def test_a_loop_becomes_an_instruction():
    tir.TensorIntrin.register("test_every_primitive.call", fill_desc, fill_call, override=True)
    sch = tir.Schedule(sevens)
    sch.tensorize(loops(sch, "A")[1], "test_every_primitive.call")
    text = sch.mod.script()
    assert 'T.call_extern("fill_sevens"' in text
    assert "T.float32(7)" not in text


# ---- what looks and keeps house ----


def test_producers_and_consumers_are_those_of_the_data():
    sch = tir.Schedule(program())

    def names(blocks):
        return [sch.get(block).name_hint for block in blocks]

    assert names(sch.get_producers("C")) == ["P"]
    assert names(sch.get_consumers("C")) == ["D"]
    assert names(sch.get_producers("P")) == names(sch.get_consumers("D")) == []
    assert names(sch.get_child_blocks(sch.get_block("root"))) == ["P", "C", "D"]
    with pytest.raises(
        tir.ScheduleError, match='Cannot find a block with the name: X; the blocks of "main" are root, P'
    ):
        sch.get_producers("X")


def test_work_on_chooses_the_function_that_names_are_looked_for_in():
    sch = tir.Schedule(tvm.IRModule({"f": sevens, "g": program()}))
    sch.work_on("g")
    assert sch.get(sch.get_block("D")).name_hint == "D"
    sch.work_on("f")
    with pytest.raises(tir.ScheduleError, match='the blocks of "f" are root, A'):
        sch.get_block("D")
    with pytest.raises(ValueError, match="nowhere"):
        sch.work_on("nowhere")


def test_a_variable_that_is_forgotten_is_not_known_any_more():
    sch = tir.Schedule(program())
    block = sch.get_block("D")
    assert sch.show(block).startswith("block D(")
    sch.remove_rv(block)
    with pytest.raises(IndexError, match="found in another schedule, or is removed"):
        sch.get(block)
    with pytest.raises(IndexError, match="found in another schedule, or is removed"):
        sch.get_loops(block)


def test_what_comes_behind_the_postprocessing_mark_is_left_out_when_asked_for(capsys):
    sch = tir.Schedule(program())
    sch.parallel(loops(sch, "D")[0])
    sch.enter_postproc()
    sch.unroll(loops(sch, "D")[1])
    for remove, text in ((True, "T.parallel"), (False, "T.unroll")):
        again = tir.Schedule(program())
        sch.trace.apply_to_schedule(again, remove_postproc=remove)
        assert text in again.mod.script()
        assert ("T.unroll" in again.mod.script()) != remove
    Trace(sch.trace.insts, {}).show()
    assert "sch.enter_postproc()" in capsys.readouterr().out
    sch.show()
    assert "T.unroll" in capsys.readouterr().out


def test_copies_go_their_own_ways_and_draw_alike_from_a_seed():
    sch = tir.Schedule(program(), seed=3)
    other = sch.copy()
    other.parallel(loops(other, "D")[0])
    assert "T.parallel" not in sch.mod.script()

    def drawn(seed):
        sch.seed(seed)
        return [sch.get(sch.sample_categorical([1, 2, 3, 4], [0.25] * 4)) for _ in range(8)], sch.fork_seed()

    assert drawn(7) == drawn(7) != drawn(8)
    with pytest.raises(ValueError, match="seed"):
        sch.seed(-5)


def test_a_reference_follows_its_loop():
    sch = tir.Schedule(program())
    loop = loops(sch, "D")[0]
    ref = sch.get_sref(loop)
    sch.parallel(loop)
    assert ref.stmt.kind == tir.ForKind.PARALLEL
    assert sch.get_sref(sch.get(loop)).same_as(ref)
    sch.fuse(*loops(sch, "D"))
    assert ref.stmt is None


def test_whether_padding_can_be_decomposed_is_asked_without_doing_it():
    sch = tir.Schedule(program())
    before = sch.mod
    assert sch.can_decompose_padding("P", loops(sch, "P")[0])
    assert not sch.can_decompose_padding("D", loops(sch, "D")[0])
    tvm.ir.assert_structural_equal(sch.mod, before)
