"""Marks of a stage that change how its data is prefetched: prefetch, double buffers, groups, predicates, threads."""

import numpy as np
import pytest
import tessera
from tessera import te

N, M = 16, 8
DATA = np.random.RandomState(0).rand(N, M).astype("float32")


def answer(schedule, args, shape=(N, M), config=None):
    with tessera.transform.PassContext(config=config or {}):
        function = tessera.build(schedule, args, "llvm")
    out = tessera.nd.array(np.zeros(shape, "float32"))
    function(tessera.nd.array(DATA), out)
    return out.numpy()


def two_stages(n=N):
    A = te.placeholder((N, M), name="A")
    T = te.compute((N, M), lambda i, j: A[i, j] * 2.0, name="T")
    B = te.compute((n, M), lambda i, j: T[i, j] + 1.0, name="B")
    return A, T, B, te.create_schedule(B.op)


def test_prefetch_brings_a_row_near_some_iterations_before():
    A, T, B, s = two_stages()
    s[T].compute_inline()
    s[B].prefetch(A, B.op.axis[0], 1)
    assert "@tir.prefetch(@tir.address_of(A[((i*8) + 8)]" in str(tessera.lower(s, [A, B]))
    np.testing.assert_allclose(answer(s, [A, B]), DATA * 2 + 1)


@pytest.mark.parametrize("split_loop", [0, 1, 2, 4])
@pytest.mark.parametrize("n", [1, 2, 5, 15, 16])
def test_a_double_buffer_holds_two_iterations(split_loop, n):
    A, T, B, s = two_stages(n)
    s[T].compute_at(s[B], B.op.axis[0])
    s[T].double_buffer()
    got = answer(s, [A, B], (n, M), {"tir.InjectDoubleBuffer": {"split_loop": split_loop}})
    np.testing.assert_allclose(got, DATA[:n] * 2 + 1)


def test_a_group_is_computed_where_its_representative_is():
    A, T, B, _ = two_stages()
    C = te.compute((N, M), lambda i, j: B[i, j] * 3.0, name="C")
    s = te.create_schedule(C.op)
    s.create_group(outputs=B, inputs=A, include_inputs=False).compute_at(s[C], C.op.axis[0])
    assert "allocate(T: Pointer(global float32), float32, [8])" in str(tessera.lower(s, [A, C]))
    np.testing.assert_allclose(answer(s, [A, C]), (DATA * 2 + 1) * 3, rtol=1e-6)


@pytest.mark.parametrize("split", [False, True])
def test_a_store_predicate_may_name_axes_of_the_stage(split):
    A, T, B, s = two_stages()
    s[T].compute_inline()
    if split:
        s[B].split(B.op.axis[0], factor=5)
    s[B].set_store_predicate(B.op.axis[0].var < 3)
    want = np.where(np.arange(N)[:, None] < 3, DATA * 2 + 1, 0)
    np.testing.assert_allclose(answer(s, [A, B]), want)


def test_a_rolling_buffer_is_marked_and_gives_the_same_answer():
    A = te.placeholder((N, M), name="A")
    T = te.compute((N, M), lambda i, j: A[i, j] * 2.0, name="T")
    B = te.compute((N - 2, M), lambda i, j: T[i, j] + T[i + 1, j] + T[i + 2, j], name="B")
    s = te.create_schedule(B.op)
    s[T].compute_at(s[B], B.op.axis[0])
    s[T].rolling_buffer()
    assert '"rolling_buffer_scope" = True' in str(tessera.lower(s, [A, B]))
    want = 2 * (DATA[:-2] + DATA[1:-1] + DATA[2:])
    np.testing.assert_allclose(answer(s, [A, B], (N - 2, M)), want, rtol=1e-6)


def test_threads_of_a_scan_stand_around_its_whole_nest():
    m, n = te.size_var("m"), te.size_var("n")
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    total = te.scan(init, update, state, inputs=[X], name="total")
    s = te.create_schedule(total.op)
    s[total].env_threads([te.thread_axis((0, 64), "threadIdx.x")])
    text = str(tessera.lower(s, [X, total]))
    thread, init_loop, scan_loop = (text.index(part) for part in ('"thread_extent" = 64', "0, n)", "0, (m - 1))"))
    assert thread < init_loop < scan_loop


def test_the_condition_of_a_specialization_is_known_inside():
    m = te.var("m")
    assert te.SpecializedCondition.current() is None
    with te.SpecializedCondition([m > 1]) as outer:
        assert te.SpecializedCondition.current().same_as(outer)
        with te.SpecializedCondition(m > 2) as inner:
            assert te.SpecializedCondition.current().same_as(inner)
        assert te.SpecializedCondition.current().same_as(outer)
    assert te.SpecializedCondition.current() is None
