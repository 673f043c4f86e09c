"""Passes over loops, conditions and vectors, one small program each."""

import numpy as np
import pytest
import tessera as tvm
from helpers import becomes, body_text, check, global_pass, named, ones, run
from tessera import te, tir
from tessera.script import tir as T
from tessera.tir import transform as X


def test_a_load_that_its_condition_guards_is_not_made_otherwise():
    @T.prim_func
    def before(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]):
        for i in range(8):
            B[i] = T.Select(i < 4, A[i + 4], T.float32(0)) + T.Select(i < 2, T.float32(1), T.float32(2))

    @T.prim_func
    def after(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]):
        for i in range(8):
            B[i] = T.if_then_else(i < 4, A[i + 4], T.float32(0), dtype="float32") + T.Select(
                i < 2, T.float32(1), T.float32(2)
            )

    becomes(X.RewriteUnsafeSelect(), before, after)


def test_common_factors_of_split_loops_go_out():
    @T.prim_func
    def before(A: T.Buffer[64, "float32"]):
        for i, j in T.grid(4, 16):
            if i * 16 + j < 56:
                A[(i * 4 + j) // 16] = T.float32(1)

    @T.prim_func
    def after(A: T.Buffer[64, "float32"]):
        for i, j in T.grid(4, 16):
            if i * 2 + j // 8 < 7:
                A[(i + j // 4) // 4] = T.float32(1)

    becomes(X.RenormalizeSplitPattern(), before, after)


@T.prim_func
def guarded(A: T.Buffer[64, "float32"], n: T.int32) -> None:
    for i, j in T.grid(4, 16):
        if i < n:
            A[i * 16 + j] = T.float32(1)


@pytest.mark.parametrize(
    "hoist", [X.HoistIfThenElse(), X.HoistIfThenElse("basic"), global_pass("HoistIfThenElseBasic")]
)
def test_conditions_leave_the_loops_that_they_do_not_depend_on(hoist):
    @T.prim_func
    def after(A: T.Buffer[64, "float32"], n: T.int32):
        for i in range(4):
            if i < n:
                for j in range(16):
                    A[i * 16 + j] = T.float32(1)

    becomes(hoist, guarded, after)


def test_the_rest_of_a_vector_loop_is_done_under_a_mask():
    @T.prim_func
    def before(A: T.Buffer[32, "float32"], B: T.Buffer[32, "float32"], n: T.int32):
        for i in range(4):
            for j in T.vectorized(8):
                if i * 8 + j < n:
                    B[i * 8 + j] = A[i * 8 + j] + T.float32(1)

    masked = run([X.VectorizeLoop(), global_pass("MaskVectorTails")], named(before))
    mask = "T.ramp(i * 8, 1, 8) < T.broadcast(n, 8)"
    text = body_text(masked)
    assert 'T.masked_store(T.address_of(B[i * 8], dtype="handle")' in text
    assert f'T.masked_load(T.address_of(A[i * 8], dtype="handle"), {mask}, ' in text
    a, b = tvm.nd.array(np.arange(32, dtype="float32")), tvm.nd.array(np.zeros(32, "float32"))
    tvm.build(named(before), target="llvm")(a, b, 19)
    np.testing.assert_array_equal(b.numpy(), np.where(np.arange(32) < 19, np.arange(32) + 1, 0))


def test_strides_that_may_be_one_are_tried_as_one():
    stride = te.size_var("s")
    A = tir.decl_buffer((8,), "float32", name="A", strides=[stride], buffer_type="auto_broadcast")
    B = tir.decl_buffer((8,), "float32", name="B")
    i, a, b = tir.Var("i", "int32"), tir.Var("a", "handle"), tir.Var("b", "handle")
    copy = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BufferStore(B, tir.BufferLoad(A, [i]), [i]))
    func = named(tir.PrimFunc([a, b], copy, buffer_map={a: A, b: B}))
    check(
        run([X.FlattenBuffer(), global_pass("SpecializeStrides")], func),
        """
        if s == 1:
            for i in T.serial(8):
                B[i] = A[i]
        else:
            for i in T.serial(8):
                B[i] = A[i * s]
        """,
    )


def test_loops_of_any_kind_become_serial():
    kinds = []
    done = run(X.ConvertForLoopsToSerial(), named(ones))
    tir.stmt_functor.post_order_visit(done.body, lambda n: isinstance(n, tir.For) and kinds.append(n.kind))
    assert kinds == [tir.ForKind.SERIAL]


def test_the_init_of_a_block_runs_where_its_reduction_begins():
    @T.prim_func
    def before(A: T.Buffer[(4, 8), "float32"], B: T.Buffer[4, "float32"]):
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    @T.prim_func
    def after(A: T.Buffer[(4, 8), "float32"], B: T.Buffer[4, "float32"]):
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                if vk == 0:
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    becomes(X.LowerInitBlock(), before, after)


def test_a_view_becomes_accesses_of_what_it_shows():
    @T.prim_func
    def before(A: T.Buffer[(8, 8), "float32"]):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(A[vi, 2:6])
                M = T.match_buffer(A[vi, 2:6], [4], offset_factor=1, strides=[1])
                for j in range(4):
                    M[j] = T.float32(1)

    @T.prim_func
    def after(A: T.Buffer[(8, 8), "float32"]):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(A[vi, 2:6])
                for j in range(4):
                    A[vi, 2 + j] = T.float32(1)

    becomes(X.LowerMatchBuffer(), before, after)


def test_loops_of_one_thread_become_one():
    @T.prim_func
    def before(A: T.Buffer[16, "float32"], B: T.Buffer[16, "float32"]):
        for i in T.thread_binding(2, thread="blockIdx.x"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                A[i * 8 + j] = 1.0
            for k in T.thread_binding(8, thread="threadIdx.x"):
                B[i * 8 + k] = 2.0

    check(
        run(X.UnifyThreadBinding(), named(before)),
        """
        for blockIdx_x in T.thread_binding(2, thread="blockIdx.x"):
            for threadIdx_x in T.thread_binding(8, thread="threadIdx.x"):
                A[blockIdx_x * 8 + threadIdx_x] = T.float32(1)
                B[blockIdx_x * 8 + threadIdx_x] = T.float32(2)
        """,
    )


def test_loops_of_one_thread_may_count_in_other_types():
    @T.prim_func
    def before(A: T.Buffer[16, "float32"], B: T.Buffer[T.int64(8), "float32"]):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = 1.0
            for k in T.thread_binding(T.int64(8), thread="threadIdx.x"):
                B[k] = 2.0

    text = body_text(run(X.UnifyThreadBinding(), named(before)))
    assert text.count("T.thread_binding") == 1
    assert 'B[T.cast(threadIdx_x, "int64")] = T.float32(2)' in text


def test_a_condition_on_a_thread_leaves_a_loop_only_on_request():
    @T.prim_func
    def before(A: T.Buffer[64, "float32"]):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            for i in range(4):
                if j < 5:
                    A[i * 8 + j] = T.float32(1)

    lowered = run([X.UnifyThreadBinding(), X.LowerOpaqueBlock()], named(before))
    config = {"tir.HoistIfThenElse": {"support_block_scope_hosting": True}}
    stays, leaves = (body_text(run(X.HoistIfThenElse(), lowered, c)) for c in (None, config))
    assert stays.index("for i") < stays.index("if ")
    assert leaves.index("if ") < leaves.index("for i")


def test_pragmas_nest_in_the_order_of_their_keys():
    @T.prim_func
    def before(A: T.Buffer[4, "float32"]):
        for i in T.serial(4, annotations={"pragma_b": 2, "pragma_a": 1}):
            A[i] = 1.0

    text = body_text(run(X.LowerOpaqueBlock(), named(before)))
    assert text.index("pragma_a") < text.index("pragma_b")


def test_threads_that_share_a_sum_are_told_to():
    @T.prim_func
    def before(A: T.Buffer[(4, 8), "float32"], B: T.Buffer[4, "float32"]):
        for i in range(4):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]

    text = body_text(run(X.LowerCrossThreadReduction(), named(before)))
    assert "T.tvm_thread_allreduce(" in text
    assert "with T.init()" not in text
