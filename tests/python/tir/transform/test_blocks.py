"""From blocks to plain loops."""

import numpy as np
import pytest
import tessera as tvm
from helpers import body_text, function, named, run
from tessera import tir
from tessera.script import tir as T

X = tir.transform


@T.prim_func
def row_cache(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (16, 16), "float32")
    B = T.match_buffer(b, (16, 16), "float32")
    C = T.alloc_buffer((16, 16), "float32")
    for i in T.serial(16):
        for j in T.serial(16):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * 2.0
        for j in T.serial(16):
            with T.block("Q"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] + 1.0


@T.prim_func
def row_sums(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (8, 32), "float32")
    B = T.match_buffer(b, (8,), "float32")
    S = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 32):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in T.serial(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = S[vi] * 2.0


@T.prim_func
def guarded(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (30,), "float32")
    B = T.match_buffer(b, (30,), "float32")
    for io, ii in T.grid(4, 8):
        with T.block("B"):
            vi = T.axis.spatial(30, io * 8 + ii)
            T.where(io * 8 + ii < 30)
            B[vi] = A[vi] + 1.0


def lowered(func):
    return tvm.lower(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}))["main"]


def test_a_buffer_used_in_one_row_only_keeps_one_row():
    passes = [X.PlanAndUpdateBufferAllocationLocation(), X.ConvertBlocksToOpaque(), X.CompactBufferAllocation()]
    text = body_text(run(passes, row_cache))
    assert "C = T.alloc_buffer([1, 16]" in text
    assert "C[0, j] = A[i, j] * T.float32(2)" in text


@T.prim_func
def row_view(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (16, 16), "float32")
    B = T.match_buffer(b, (16, 16), "float32")
    C = T.alloc_buffer((16, 16), "float32")
    for i in T.serial(16):
        with T.block("P"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi, 0:16])
            T.writes(C[vi, 0:16])
            V = T.match_buffer(C[vi, 0:16], (16,), "float32", strides=[1], offset_factor=1)
            for j in T.serial(16):
                V[j] = A[vi, j] * 2.0
        for j in T.serial(16):
            with T.block("Q"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] + 1.0


def test_a_buffer_seen_through_a_view_of_one_row_keeps_one_row():
    text = body_text(lowered(row_view))
    assert 'T.allocate([16], "float32"' in text
    assert "C_1[j] = A[i * 16 + j] * T.float32(2)" in text or "C[j] = A[i * 16 + j] * T.float32(2)" in text


def test_what_a_reduction_writes_lives_across_its_loops():
    text = body_text(lowered(row_sums))
    assert text.index("allocate") < text.index("for ")


def test_a_predicate_becomes_a_guard():
    assert "if " in body_text(lowered(guarded))


@pytest.mark.parametrize(
    "func, want",
    [
        (row_cache, lambda a: a * 2 + 1),
        (row_sums, lambda a: a.sum(1) * 2),
        (guarded, lambda a: a + 1),
    ],
)
def test_blocks_compile(func, want):
    compiled = tvm.build(func, target="llvm")
    shapes = [tuple(int(x) for x in buf.shape) for buf in func.buffer_map.values()]
    a = np.random.default_rng(0).uniform(size=shapes[0]).astype("float32")
    out = tvm.nd.array(np.zeros(shapes[1], "float32"))
    compiled(tvm.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), want(a), rtol=1e-5)


def test_loops_bound_to_one_thread_become_one_launch_dimension():
    @T.prim_func
    def two_loops(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (4, 16), "float32")
        B = T.match_buffer(b, (4, 16), "float32")
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("A"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = 1.0
            for k in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vk = T.axis.remap("SS", [i, k])
                    B[vi, vk] = 2.0

    text = body_text(lowered(two_loops))
    assert text.count("launch_thread") == 2
    assert "A[blockIdx_x * 16 + threadIdx_x]" in text and "B[blockIdx_x * 16 + threadIdx_x]" in text


class TestBuffersThatOutliveAnIteration:
    def lowered_like(self, func, expected):
        x = np.random.rand(34).astype("float32")
        out = tvm.nd.empty((32,))
        tvm.build(func, target="llvm")(tvm.nd.array(x), out)
        np.testing.assert_allclose(out.numpy(), expected(x), rtol=1e-6)

    def test_a_window_that_rolls_keeps_what_earlier_iterations_wrote(self):
        @T.prim_func
        def func(A: T.Buffer[34, "float32"], C: T.Buffer[32, "float32"]):
            B = T.alloc_buffer((34,), "float32")
            for i in T.serial(34):
                with T.block("B"):
                    vi = T.axis.spatial(34, i)
                    B[vi] = A[vi] * 2.0
                with T.block("C"):
                    T.where(i >= 2)
                    vi = T.axis.spatial(32, i - 2)
                    C[vi] = B[vi] + B[vi + 1] + B[vi + 2]

        self.lowered_like(func, lambda x: 2 * (x[:-2] + x[1:-1] + x[2:]))

    def test_what_is_read_before_it_is_written_comes_from_the_iteration_before(self):
        @T.prim_func
        def func(A: T.Buffer[34, "float32"], C: T.Buffer[32, "float32"]):
            B = T.alloc_buffer((1,), "float32")
            for i in T.serial(33):
                with T.block("C"):
                    T.where(i >= 1)
                    vi = T.axis.spatial(32, i - 1)
                    C[vi] = B[0]
                with T.block("B"):
                    vi = T.axis.spatial(33, i)
                    B[0] = A[vi]

        self.lowered_like(func, lambda x: x[:32])

    def test_a_buffer_of_one_iteration_is_allocated_inside_the_loop(self):
        @T.prim_func
        def func(A: T.Buffer[34, "float32"], C: T.Buffer[32, "float32"]):
            B = T.alloc_buffer((34,), "float32")
            for i in T.serial(8):
                for j in T.serial(6):
                    with T.block("B"):
                        vi = T.axis.spatial(34, i * 4 + j)
                        B[vi] = A[vi] * 2.0
                for j in T.serial(4):
                    with T.block("C"):
                        vi = T.axis.spatial(32, i * 4 + j)
                        C[vi] = B[vi] + B[vi + 1] + B[vi + 2]

        assert "float32, [6])" in str(tvm.lower(func))
        self.lowered_like(func, lambda x: 2 * (x[:-2] + x[1:-1] + x[2:]))


@T.prim_func
def written_in_another_shape(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (64,), "float32")
    B = T.match_buffer(b, (4, 4), "float32")
    C = T.alloc_buffer((8, 8), "float32")
    D = T.buffer_decl((64,), "float32", data=C.data)
    for i in T.serial(64):
        with T.block("D"):
            T.reads(A[i])
            T.writes(C[0:8, 0:8])
            D[i] = A[i]
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi + 2, vj + 3]


def test_a_buffer_that_is_written_in_another_shape_keeps_its_size():
    x = np.arange(64, dtype="float32")
    out = tvm.nd.empty((4, 4))
    tvm.build(written_in_another_shape.with_attr("global_symbol", "main"), target="llvm")(tvm.nd.array(x), out)
    np.testing.assert_array_equal(out.numpy(), x.reshape(8, 8)[2:6, 3:7])


@pytest.mark.parametrize(
    ("shape", "strides"),
    [([10, 6], [11, 1]), ([10, 1, 6], [11, 6, 1]), ([4, 3, 2], [13, 5, 2]), ([5], [3]), ([2, 8], [16, 2])],
)
def test_memory_of_a_strided_buffer_reaches_to_its_last_element(shape, strides):
    buffer = tir.decl_buffer(shape, "float32", name="B", strides=strides)
    indices = [extent - 1 for extent in shape]
    store = tir.BufferStore(buffer, tir.const(1.0, "float32"), indices)
    root = tir.Block([], [], [], "root", store, alloc_buffers=[buffer])
    func = function([], tir.BlockRealize([], True, root))
    allocate = run(X.LowerOpaqueBlock(), func).body
    last = sum(index * stride for index, stride in zip(indices, strides, strict=True))
    assert np.prod([int(extent) for extent in allocate.extents]) > last


def test_the_block_around_an_allocation_touches_what_its_body_does():
    @T.prim_func
    def before(A: T.Buffer[(16, 16), "float32"], C: T.Buffer[(16, 16), "float32"]):
        B = T.alloc_buffer((16, 16))
        for i in range(16):
            for j in range(16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * 2.0
            for j in range(16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj] + 1.0

    text = run(X.PlanAndUpdateBufferAllocationLocation(), named(before)).script()
    opaque = text[text.index("for i in") : text.index("B = T.alloc_buffer")]
    assert "T.reads(A[i, 0 : 16])" in opaque
    assert "T.writes(C[i, 0 : 16])" in opaque


@T.prim_func
def guarded(A: T.Buffer[60, "float32"]) -> None:
    for i, j in T.grid(8, 8):
        with T.block("A"):
            T.where(i * 8 + j < 60)
            T.reads()
            T.writes(A[i * 8 + j])
            A[i * 8 + j] = 1.0


def test_the_guard_of_a_block_is_a_plain_condition():
    text = body_text(run(X.LowerOpaqueBlock(), named(guarded)))
    assert "if i * 8 + j < 60:" in text


def test_compilation_marks_guards_first_so_that_loops_are_split_at_them():
    marked = run([tvm.get_global_func("tir.transform.MarkGuards")(), X.LowerOpaqueBlock()], named(guarded))
    assert 'if T.likely(i * 8 + j < 60, dtype="bool"):' in body_text(marked)
