"""The loops that a schedule describes, as phase 0 shows them."""

import numpy as np
import pytest
import tessera
from tessera import te, tir


def matmul(n=8, k=6):
    A = te.placeholder((n, k), name="A")
    B = te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    return A, B, te.compute((n, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")


def chain(n=16):
    A = te.placeholder((n, n), name="A")
    P = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="P")
    return A, P, te.compute((n, n), lambda i, j: P[i, j] + 1.0, name="Q")


def test_a_split_that_divides_needs_no_guard(phase0):
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=16)
    assert "likely" not in phase0(s, [A, B])


def test_a_split_that_does_not_divide_guards_the_store(phase0):
    A = te.placeholder((70,), name="A")
    B = te.compute((70,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=16)
    assert "if @tir.likely((((i.outer*16) + i.inner) < 70), dtype=bool)" in phase0(s, [A, B])


def test_a_guard_on_a_split_of_a_split_stands_for_each_that_does_not_divide(phase0):
    A = te.placeholder((100,), name="A")
    B = te.compute((100,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=30)
    s[B].split(inner, factor=7)
    assert phase0(s, [A, B]).count("likely") == 2


def test_init_stands_outside_the_outermost_loop_that_reduces(phase0):
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=2)
    s[C].reorder(ko, *C.op.axis, ki)
    lines = [line.strip() for line in phase0(s, [A, B, C]).splitlines()]
    assert lines[:3] == [
        "for (i.init: int32, 0, 8) {",
        "for (j.init: int32, 0, 8) {",
        "C[i.init, j.init] = 0f32",
    ]
    assert lines[5] == "for (k.outer: int32, 0, 3) {"


def test_init_carries_only_the_spatial_guards(phase0):
    A, B, C = matmul(n=7, k=5)
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[1], factor=4)
    s[C].split(C.op.reduce_axis[0], factor=2)
    text = phase0(s, [A, B, C])
    init, update = text.split("= 0f32", 1)
    assert "k.outer" not in init and init.count("likely") == 1
    assert "((k.outer*2) + k.inner) < 5" in update


def test_a_fused_loop_of_spatial_and_reduce_axes_initialises_all_of_it(phase0):
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    s[C].fuse(C.op.axis[1], C.op.reduce_axis[0])
    assert "for (j.k.fused.init: int32, 0, 48)" in phase0(s, [A, B, C])


def test_producers_attached_to_one_loop_stand_in_their_order(phase0):
    A, P, Q = chain()
    R = te.compute((16, 16), lambda i, j: Q[i, j] * 3.0, name="R")
    s = te.create_schedule(R.op)
    s[P].compute_at(s[R], R.op.axis[0])
    s[Q].compute_at(s[R], R.op.axis[0])
    text = phase0(s, [A, R])
    assert text.index("realize(P") < text.index("realize(Q") < text.index("R[i, ")
    assert "[i:(i + 1), 0:16]" in text


def test_an_axis_split_after_something_was_attached_to_it_keeps_it_in_its_inner_loop(phase0):
    A, P, Q = chain()
    s = te.create_schedule(Q.op)
    s[P].compute_at(s[Q], Q.op.axis[0])
    s[Q].split(Q.op.axis[0], factor=4)
    assert "[((i.outer*4) + i.inner):(((i.outer*4) + i.inner) + 1), 0:16]" in phase0(s, [A, Q])


def test_inlined_stages_leave_no_trace(phase0):
    A, P, Q = chain()
    s = te.create_schedule(Q.op)
    s[P].compute_inline()
    assert "Q[i, j] = ((A[i, j]*2f32) + 1f32)" in phase0(s, [A, Q])


def test_loop_kinds_and_pragmas_are_on_their_loops(phase0):
    A, P, Q = chain()
    s = te.create_schedule(Q.op)
    s[P].compute_inline()
    xo, yo, xi, yi = s[Q].tile(*Q.op.axis, 8, 8)
    s[Q].parallel(xo)
    s[Q].unroll(xi)
    s[Q].vectorize(yi)
    s[Q].pragma(yo, "auto_unroll_max_step", 16)
    text = phase0(s, [A, Q])
    assert 'for (i.outer: int32, 0, 2) "parallel"' in text
    assert 'for (i.inner: int32, 0, 8) "unroll"' in text
    assert 'for (j.inner: int32, 0, 8) "vectorized"' in text
    assert '"pragma_auto_unroll_max_step" = 16' in text


def test_threads_are_launched_once_around_all_that_use_them(phase0):
    A, P, Q = chain()
    s = te.create_schedule(Q.op)
    tx = te.thread_axis("threadIdx.x")
    s[Q].bind(Q.op.axis[0], te.thread_axis("blockIdx.x"))
    s[Q].bind(Q.op.axis[1], tx)
    s[P].set_scope("shared")
    s[P].compute_at(s[Q], Q.op.axis[1])
    s[P].bind(P.op.axis[1], tx)
    assert phase0(s, [A, Q]).count('"thread_extent" = 16') == 2


def test_a_tensor_without_scope_is_kept_by_the_threads_around_it(phase0):
    A, P, Q = chain()
    for axis, scope in ((0, "shared"), (1, "local")):
        s = te.create_schedule(Q.op)
        s[Q].bind(Q.op.axis[0], te.thread_axis("blockIdx.x"))
        s[Q].bind(Q.op.axis[1], te.thread_axis("threadIdx.x"))
        s[P].compute_at(s[Q], Q.op.axis[axis])
        assert f'scope="{scope}"' in phase0(s, [A, Q])


def test_a_pair_that_is_updated_together_keeps_its_old_values_until_both_are_known():
    A = te.placeholder((5,), name="A", dtype="int32")
    k = te.reduce_axis((0, 5), name="k")

    def pick(left, right):
        better = left[0] >= right[0]
        return tir.Select(better, left[0], right[0]), tir.Select(better, left[1], right[1])

    argmax = te.comm_reducer(pick, lambda t0, t1: (tir.min_value(t0), tir.const(-1, t1)), name="argmax")
    V, I = te.compute((1,), lambda _: argmax((A[k], k.var), axis=k), name="R")
    s = te.create_schedule(V.op)
    function = tessera.get_global_func("te.ScheduleToPrimFunc")(s, [A, V, I], "main", {})
    a = tessera.nd.array(np.array([3, 9, 2, 9, 1], "int32"))
    value, index = (tessera.nd.array(np.zeros(1, "int32")) for _ in range(2))
    tessera.get_global_func("tir.Interpret")(function, a, value, index)
    assert value.numpy()[0] == 9 and index.numpy()[0] == 1


def test_a_reduction_by_threads_has_no_init(phase0):
    A = te.placeholder((16, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    B = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    text = phase0(s, [A, B])
    assert "tvm_thread_allreduce(1u32, A[i, threadIdx.x], True" in text
    assert "= 0f32" not in text


def test_a_scan_is_init_and_steps_over_one_tensor(phase0):
    X = te.placeholder((10, 8), name="X")
    state = te.placeholder((10, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    update = te.compute((10, 8), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    text = phase0(te.create_schedule(S.op), [X, S])
    assert "S[0, i] = X[0, i]" in text
    assert "S[(S.idx + 1), i_1] = (S[((S.idx + 1) - 1), i_1] + X[(S.idx + 1), i_1])" in text


def test_an_argument_that_is_missing_is_named(phase0):
    A, P, Q = chain()
    with pytest.raises(Exception, match="Cannot find the Realization point of tensor A"):
        phase0(te.create_schedule(Q.op), [Q])


def test_a_long_chain_of_inlined_stages_is_written_out_once():
    def plus_one(last):
        return te.compute((8,), lambda i: last[i] + 1.0, name="S")

    stages = [te.placeholder((8,), name="A")]
    for _ in range(1500):
        stages.append(plus_one(stages[-1]))
    s = te.create_schedule(stages[-1].op)
    for stage in stages[1:-1]:
        s[stage].compute_inline()
    normal = s.normalize()
    assert normal[stages[-2]].op.same_as(stages[-2].op)  # what is inlined is not written out for itself
    assert str(normal.outputs[0].body[0]).count("1f32") == 1500


@pytest.mark.parametrize("tag, scope", [("threadIdx.x", "local"), ("vthread", "local"), ("blockIdx.y", "shared")])
@pytest.mark.parametrize("rows", [1, 3])
def test_threads_compute_all_that_their_own_memory_needs(tag, scope, rows):
    """Of memory that each thread has for itself, no thread leaves a part to another."""
    A = te.placeholder((6, 2), name="A")
    B = te.compute((6, 2), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((6 // rows, rows, 2), lambda i, k, j: B[i * rows + k, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    thread = te.thread_axis(tag)
    s[C].bind(s[C].split(C.op.axis[0], factor=2)[1], thread)
    s[B].compute_at(s[C], s[C].leaf_iter_vars[1])
    s[B].set_scope(scope)
    s[B].bind(s[B].split(B.op.axis[0], factor=2)[1], thread)
    program = tessera.get_global_func("te.ScheduleToPrimFunc")(s, [A, C], "main", {})
    a, result = np.arange(12, dtype="float32").reshape(6, 2), tessera.nd.empty((6 // rows, rows, 2))
    tessera.get_global_func("tir.Interpret")(program, tessera.nd.array(a), result)
    np.testing.assert_array_equal(result.numpy().reshape(6, 2), a * 2 + 1)
    if rows == 1:
        assert "if" not in tessera.lower(s, [A, C]).script()


def test_a_producer_follows_what_a_thread_computes_for_itself():
    A = te.placeholder((6, 2), name="A")
    D = te.compute((6, 2), lambda i, j: A[i, j] * 2.0, name="D")
    B = te.compute((6, 2), lambda i, j: D[i, j] + 3.0, name="B")
    C = te.compute((6, 2), lambda i, j: B[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    thread = te.thread_axis("threadIdx.x")
    s[C].bind(s[C].split(C.op.axis[0], factor=2)[1], thread)
    s[B].compute_at(s[C], s[C].leaf_iter_vars[1])
    s[B].set_scope("local")
    inner = s[B].split(B.op.axis[0], factor=2)[1]
    s[B].bind(inner, thread)
    s[D].compute_at(s[B], inner)
    s[D].set_scope("local")
    program = tessera.get_global_func("te.ScheduleToPrimFunc")(s, [A, C], "main", {})
    a, result = np.arange(12, dtype="float32").reshape(6, 2), tessera.nd.empty((6, 2))
    tessera.get_global_func("tir.Interpret")(program, tessera.nd.array(a), result)
    np.testing.assert_array_equal(result.numpy(), a * 2 + 4)
