import pytest
from helpers import body_text, buffer, check, function, loop, run
from tessera import te, tir

i, j = te.var("i"), te.var("j")
VECTOR = tir.ForKind.VECTORIZED


def test_strided_accesses_become_ramps():
    A = buffer("A", (64,))
    store = tir.BufferStore(A, A[i] + 2.0, [i * 2 + 8])
    check(
        run(tir.transform.VectorizeLoop(), function([A], loop(i, 8, store, VECTOR))),
        "A[8:24:2] = A[0:8] + T.broadcast(T.float32(2), 8)",
    )


def test_a_guard_that_differs_between_lanes_is_asked_lane_by_lane():
    A, n = buffer("A", (64,)), te.var("n")
    guarded = tir.IfThenElse(tir.likely(j * 8 + i < n), tir.BufferStore(A, 1.0, [j * 8 + i]), None)
    func = function([A], loop(j, 8, loop(i, 8, guarded, VECTOR)), [n])
    check(
        run(tir.transform.VectorizeLoop(), func),
        """
        for j, i_s in T.grid(8, 8):
            if T.likely(j * 8 + i_s < n, dtype="bool"):
                A[j * 8 + i_s] = T.float32(1)
        """,
    )


def test_a_guard_that_does_not_differ_stays_outside_the_vector():
    A, n = buffer("A", (64,)), te.var("n")
    guarded = tir.IfThenElse(n < 4, tir.BufferStore(A, 1.0, [i]), None)
    text = body_text(run(tir.transform.VectorizeLoop(), function([A], loop(i, 8, guarded, VECTOR), [n])))
    assert text == "if n < 4:\n    A[0:8] = T.broadcast(T.float32(1), 8)"


def test_memory_inside_the_loop_gets_a_lane_each():
    A, T = buffer("A", (8,)), buffer("T", (1,))
    body = tir.Allocate(
        T.data,
        "float32",
        [1],
        tir.const(True),
        tir.SeqStmt([tir.BufferStore(T, A[i] * 2.0, [0]), tir.BufferStore(A, T[0], [i])]),
    )
    text = body_text(run(tir.transform.VectorizeLoop(), function([A], loop(i, 8, body, VECTOR))))
    assert "T.allocate([8]" in text
    assert "[0:8] = A[0:8] * T.broadcast(T.float32(2), 8)" in text


def test_a_symbolic_extent_is_an_error_that_says_what_to_do():
    A, n = buffer("A", (64,)), te.var("n")
    func = function([A], loop(i, n, tir.BufferStore(A, 1.0, [i]), VECTOR), [n])
    with pytest.raises(Exception, match="Failed to vectorize loop with extent n.*split it by a constant"):
        run(tir.transform.VectorizeLoop(), func)


def test_switched_off_it_leaves_serial_loops():
    A = buffer("A", (8,))
    func = function([A], loop(i, 8, tir.BufferStore(A, 1.0, [i]), VECTOR))
    check(run(tir.transform.VectorizeLoop(False), func), "for i in T.serial(8):\n    A[i] = T.float32(1)")
