"""What primitives reject: each error names the rule that would be broken and leaves the program as it was."""

# ruff: noqa: F821, B007 - names inside scripts

import pytest
from tessera import te, tir
from tessera.script import tir as T


def rejects(sch, primitive, *args, match, **options):
    before, length = sch.mod.script(), len(sch.trace.insts)
    with pytest.raises(tir.ScheduleError, match=match):
        getattr(sch, primitive)(*args, **options)
    assert sch.mod.script() == before
    assert all(inst.kind.is_pure for inst in list(sch.trace.insts)[length:])


def schedule(*tensors):
    return tir.Schedule(te.create_prim_func(list(tensors)))


def matmul_chain(n=16):
    """C = A @ B, D = C + 1"""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return schedule(a, b, te.compute((n, n), lambda i, j: c[i, j] + 1.0, name="D"))


# ---- reverse_compute_at ----


def test_a_consumer_waits_for_the_whole_sum():
    sch = matmul_chain()
    rejects(sch, "reverse_compute_at", "D", sch.get_loops("C")[2], match='over which block "C" still accumulates it')


def test_a_consumer_is_not_moved_to_a_part_with_holes():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    sch = schedule(a, te.compute((16,), lambda i: b[i] + 1.0, name="C"))
    outer, inner = sch.split(sch.get_loops("B")[0], [4, 4])
    sch.reorder(inner, outer)  # an iteration of `inner` now writes every fourth element
    rejects(sch, "reverse_compute_at", "C", inner, match='reads elements of B that block "B" is not known to have')


def test_a_sum_runs_in_parts_where_its_terms_are_made():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    k = te.reduce_axis((0, 16), "k")
    sch = schedule(a, te.compute((), lambda: te.sum(b[k], axis=k), name="S"))
    outer, _ = sch.split(sch.get_loops("B")[0], [4, 4])
    sch.reverse_compute_at("S", outer)
    assert "k = T.axis.reduce(16, i0_0 * 4 + ax0)" in sch.mod.script()


@T.prim_func
def repeated(A: T.Buffer[(16,), "float32"], S: T.Buffer[(1,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for t, i in T.grid(3, 16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
    for k in T.serial(16):
        with T.block("S"):
            vk = T.axis.reduce(16, k)
            with T.init():
                S[0] = T.float32(0)
            S[0] = S[0] + B[vk]


def test_a_sum_is_not_repeated_inside_its_own_loops():
    sch = tir.Schedule(repeated)
    repeat, each = sch.get_loops("B")
    sch.reverse_compute_at("S", repeat)  # three times, each from the beginning
    sch = tir.Schedule(repeated)
    repeat, each = sch.get_loops("B")
    sch.reorder(each, repeat)
    rejects(sch, "reverse_compute_at", "S", repeat, match="elements would be added more than once")


def test_a_consumer_keeps_running_through_its_whole_domain():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] * 2.0, name="B")
    wide = te.compute((16,), lambda i: tir.if_then_else(i < 8, b[i], tir.const(0.0, "float32")), name="W")
    sch = schedule(a, wide)
    rejects(sch, "reverse_compute_at", "W", sch.get_loops("B")[0], match="whole domain of its axes|needs more")


# ---- compute_at ----


def test_a_block_is_moved_only_where_all_its_consumers_are():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((16,), lambda i: b[i] + 1.0, name="C")
    sch = schedule(a, c, te.compute((16,), lambda i: b[i] + 2.0, name="D"))
    rejects(sch, "compute_at", "B", sch.get_loops("C")[0], match="these are not: D")


def test_an_output_is_not_moved_to_a_consumer():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    sch = schedule(a, b, te.compute((16,), lambda i: b[i] + 1.0, name="C"))
    rejects(sch, "compute_at", "B", sch.get_loops("C")[0], match="is an output block")
    rejects(sch, "compute_inline", "B", match="is an output block")


@T.prim_func
def overwritten(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[15 - vi] + T.float32(1)
    for i in T.serial(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = T.float32(0)
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi]


@pytest.mark.parametrize("primitive", ["compute_at", "compute_inline"])
def test_nothing_moves_past_a_block_that_overwrites_what_was_read(primitive):
    sch = tir.Schedule(overwritten)
    args = {"compute_at": ("B", sch.get_loops("C")[0]), "compute_inline": ("B",)}[primitive]
    rejects(sch, primitive, *args, match='not a stage .* block "B": block "A" overwrites A, which block "B" has read')
    sch.reverse_compute_at("C", sch.get_loops("B")[0])  # to before the other write


@T.prim_func
def backwards(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + T.if_then_else(vi > 0, B[vi - 1], T.float32(0), dtype="float32")


@pytest.mark.parametrize("primitive", ["parallel", "vectorize"])
def test_iterations_that_read_earlier_ones_stay_in_order(primitive):
    sch = tir.Schedule(backwards)
    rejects(sch, primitive, sch.get_loops("C")[0], match='reads elements of B that block "B" is not known to have')


# ---- guards ----


@T.prim_func
def guarded(A: T.Buffer[(16,), "float32"], n: T.int32, C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(16):
        with T.block("B"):
            T.where(i < n)
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi]


def test_a_guard_that_says_more_than_the_domain_is_not_lost():
    sch = tir.Schedule(guarded)
    rejects(sch, "compute_inline", "B", match=r"its guard \(i < n\) holds")
    rejects(sch, "compute_at", "B", sch.get_loops("C")[0], match=r"its guard \(i < n\) holds")
    rejects(sch, "reverse_compute_inline", "C", match=r"its guard \(i < n\) holds")


def test_a_guard_of_a_split_is_made_anew():
    a = te.placeholder((10,), name="A")
    b = te.compute((10,), lambda i: a[i] * 2.0, name="B")
    sch = schedule(a, te.compute((10,), lambda i: b[i] + 1.0, name="C"))
    sch.split(sch.get_loops("B")[0], [None, 4])
    sch.compute_inline("B")
    assert "A[i] * T.float32(2) + T.float32(1)" in sch.mod.script()


@T.prim_func
def loose(A: T.Buffer[(10,), "float32"], B: T.Buffer[(10,), "float32"]):
    with T.block("root"):
        for i in T.serial(10):
            A[i] = T.float32(1)
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = T.float32(2)


def test_a_statement_outside_blocks_cannot_be_guarded():
    sch = tir.Schedule(loose)
    (loop,) = sch.get_loops("B")
    rejects(sch, "split", loop, [None, 4], match="holds a statement outside any block")
    sch.split(loop, [None, 5])


# ---- inlining ----


def test_a_consumer_of_a_part_is_not_inlined_into_the_whole():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    sch = schedule(a, te.compute((8,), lambda i: b[i] + 1.0, name="C"))
    rejects(sch, "reverse_compute_inline", "C", match="does not run for exactly the elements of B")


@T.prim_func
def untold(A: T.Buffer[(4, 16), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for t, i in T.grid(4, 16):
        with T.block("B"):
            vt, vi = T.axis.remap("SS", [t, i])
            B[vi] = A[vt, vi]
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi]


def test_an_axis_that_indexes_nothing_cannot_be_inlined():
    rejects(tir.Schedule(untold), "compute_inline", "B", match="computes with its axis vt, which does not index")


# ---- loops ----


def test_a_fused_loop_of_a_vector_and_a_sum_is_serial():
    sch = matmul_chain()
    _, j, k = sch.get_loops("C")
    sch.vectorize(j)
    fused = sch.fuse(j, k)
    assert sch.get(fused).kind == tir.ForKind.SERIAL
    rejects(sch, "vectorize", fused, match='axis k of block "C", bound to loop i1_i2_fused, is not a data parallel')


def test_the_update_of_a_decomposed_sum_is_still_parallel_over_its_elements():
    sch = matmul_chain()
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.decompose_reduction("C", k)
    sch.vectorize(j)
    sch.parallel(i)
    rejects(sch, "parallel", k, match='axis k of block "C_update", bound to loop i2')


def test_a_sum_written_by_all_iterations_does_not_run_in_parallel():
    sch = tir.Schedule(repeated)
    loop = sch.get_loops("S")[0]
    rejects(sch, "parallel", loop, match="is not a data parallel block iter")
    repeat = sch.add_unit_loop(loop)
    sch.parallel(repeat)  # one iteration has nothing to race with


@pytest.mark.parametrize("rows, columns, threads", [(3, 333, 256), (3, 77, 128), (9, 7, 32)])
def test_a_guarded_part_of_fused_loops_is_shared_by_threads(rows, columns, threads):
    a = te.placeholder((5, rows, columns), name="A")
    k, r = te.reduce_axis((0, rows), "k"), te.reduce_axis((0, columns), "r")
    sch = schedule(a, te.compute((5,), lambda i: te.sum(a[i, k, r], axis=[k, r]), name="B"))
    i, *both = sch.get_loops("B")
    outer, inner = sch.split(sch.fuse(*both), [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    text = sch.mod.script()
    assert f"T.where(i1_i2_fused_0 * {threads} + i1_i2_fused_1 < {rows * columns})" in text
    assert f"r = T.axis.reduce({columns}, (i1_i2_fused_0 * {threads} + i1_i2_fused_1) % {columns})" in text


@T.prim_func
def overlapping(A: T.Buffer[(16,), "float32"], B: T.Buffer[(16,), "float32"]):
    for i, k in T.grid(16, 4):
        with T.block("B"):
            T.where(i + k < 16)
            vi = T.axis.spatial(16, i + k)
            vk = T.axis.reduce(4, k)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vk]


def test_a_guard_does_not_make_sums_of_the_same_element_independent():
    sch = tir.Schedule(overlapping)
    rejects(sch, "parallel", sch.get_loops("B")[0], match="adds to the same elements in several iterations of loop i")


def test_an_index_of_unknown_length_stays_whole_when_it_is_fused_with_loops_of_one_iteration():
    n = te.var("n")
    a = te.placeholder((1, 1, n, 8), name="A")
    sch = schedule(a, te.compute((1, 1, n, 8), lambda *at: a(*at) + 1.0, name="B"))
    sch.fuse(*sch.get_loops("B")[:3])
    assert "%" not in sch.mod.script()


def test_a_fused_loop_of_unknown_length_counts_as_the_loops_it_was():
    n, m = te.var("n"), te.var("m")
    a, b = te.placeholder((n, 8), name="A"), te.placeholder((8, m), name="B")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = schedule(a, b, te.compute((n, m), lambda i, j: c[i, j] + 1.0, name="D"))
    i, j, k = sch.get_loops("C")
    outer_i, inner_i = sch.split(i, [None, 4])
    outer_j, inner_j = sch.split(j, [None, 4])
    sch.reorder(outer_i, outer_j, inner_i, inner_j, k)
    fused = sch.fuse(outer_i, outer_j)
    sch.parallel(fused)
    sch.reverse_compute_at("D", fused)


# ---- reductions ----


@T.prim_func
def from_five(A: T.Buffer[(16,), "float32"], S: T.Buffer[(1,), "float32"]):
    for k in T.serial(16):
        with T.block("S"):
            vk = T.axis.reduce(16, k)
            with T.init():
                S[0] = T.float32(5)
            S[0] = S[0] + A[vk]


def test_partial_sums_begin_with_nothing():
    sch = tir.Schedule(from_five)
    rejects(sch, "rfactor", sch.get_loops("S")[0], 0, match="not the identity of its reduction")


def test_a_loop_of_both_kinds_is_not_factored():
    sch = matmul_chain()
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(k, [4, 4])
    sch.fuse(j, outer)
    rejects(sch, "rfactor", inner, 0, match="belongs to the spatial axis j and to the reduction axis k")


def test_an_init_stays_inside_a_loop_that_repeats_the_sum():
    sch = tir.Schedule(repeated)
    repeat, _ = sch.get_loops("B")
    sch.reverse_compute_at("S", repeat)
    rejects(sch, "decompose_reduction", "S", sch.get_loops("S")[0], match="the init must stand inside it")


def test_the_init_of_a_guarded_sum_is_guarded_too():
    sch = matmul_chain(10)
    i, j, k = sch.get_loops("C")
    sch.split(i, [4, None, 3])
    init = sch.decompose_reduction("C", sch.get_loops("C")[0])
    assert sch.get(init).name_hint == "C_init"
    where = sch.mod.script().split('T.block("C_init")')[1].split("T.reads")[0]
    assert "T.where(" in where


# ---- caches ----


def test_a_copy_is_read_by_blocks_on_one_side_of_the_writer():
    sch = tir.Schedule(overwritten)
    sch.cache_read("B", 0, "local")  # before A is overwritten
    assert sch.mod.script().index("A_local[v0] = A[v0]") < sch.mod.script().index('T.block("B")')


@T.prim_func
def read_twice(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)
    for i in T.serial(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = T.float32(0)
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + A[vi]


def test_readers_before_and_after_a_write_do_not_share_a_copy():
    sch = tir.Schedule(read_twice)
    rejects(sch, "cache_read", "B", 0, "local", match='read before and after block "A" writes it')
    sch.cache_read("C", 1, "local", ["C"])


def test_a_copy_stands_inside_the_loop_that_writer_and_reader_share():
    sch = matmul_chain()
    i, _, _ = sch.get_loops("C")
    sch.reverse_compute_at("D", i)
    sch.cache_write("C", 0, "local")
    copy = sch.cache_read("D", 0, "global")
    for name in ("C_local", "C_global"):
        assert sch.get(sch.get_loops(name)[0]).loop_var.name == "i0"
    assert [sch.get(loop).extent for loop in sch.get_loops(copy)] == [16, 1, 16]


@T.prim_func
def even(A: T.Buffer[(8,), "float32"], B: T.Buffer[(16,), "float32"]):
    for i in T.serial(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi * 2] = A[vi]


def test_a_copy_back_does_not_overwrite_what_was_not_written():
    rejects(tir.Schedule(even), "cache_write", "B", 0, "local", match="the copy would overwrite the others")
    sch = tir.Schedule(guarded)
    rejects(sch, "cache_write", "B", 0, "local", match=r"its guard \(i < n\) holds")


def test_a_loop_is_no_block():
    sch = matmul_chain()
    with pytest.raises(TypeError, match="expected a block"):
        sch.compute_inline(sch.get_loops("C")[0])
    with pytest.raises(TypeError, match="expected a loop"):
        sch.parallel(sch.get_block("C"))
    with pytest.raises(IndexError, match="found in another schedule"):
        matmul_chain().parallel(sch.get_loops("C")[0])


def test_a_block_does_not_read_from_outside_what_it_allocates():
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="B")
    sch = schedule(a, te.compute((8, 8), lambda i, j: b[i, j] + 1.0, name="C"))
    sch.blockize(sch.get_loops("C")[0])
    sch.cache_write("C", 0, "global")
    sch.compute_inline("B")
    assert "T.reads(A[0 : 8, 0 : 8])" in sch.mod.script()


def test_loops_that_count_a_sum_and_its_elements_together_keep_their_order():
    sch = matmul_chain()
    _, j, k = sch.get_loops("C")
    outer, inner = sch.split(sch.fuse(j, k), [None, 5])
    message = 'count spatial and reduction axes of block "C" together, so they keep their order'
    rejects(sch, "reorder", inner, outer, match=message)
