"""Ranges that InferBound gives, as v0.10 prints them."""

import pytest
from tessera import te


def bounds(s):
    """{"stage/axis": range} of a schedule."""
    s = s.normalize()
    ranges = te.schedule.InferBound(s)
    return {
        f"{stage.op.name}/{iv.var.name}": str(ranges[iv])
        for stage in s.stages
        for iv in stage.all_iter_vars
        if iv in ranges
    }


def blur(n):
    A = te.placeholder((n + 2, n + 2), name="A")
    H = te.compute((n + 2, n), lambda y, x: A[y, x] + A[y, x + 1] + A[y, x + 2], name="H")
    V = te.compute((n, n), lambda y, x: H[y, x] + H[y + 1, x] + H[y + 2, x], name="V")
    return A, H, V


def test_a_split_that_does_not_divide_rounds_up():
    A = te.placeholder((70,), name="A")
    B = te.compute((70,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=16)
    assert bounds(s) == {
        "B/i": "range(min=0, ext=70)",
        "B/i.outer": "range(min=0, ext=5)",
        "B/i.inner": "range(min=0, ext=16)",
    }


def test_a_symbolic_split_is_a_quotient():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=32)
    assert bounds(s)["B/i.outer"] == "range(min=0, ext=floordiv((n + 31), 32))"


def test_an_attached_stencil_computes_the_rows_its_reader_needs():
    A, H, V = blur(30)
    s = te.create_schedule(V.op)
    s[H].compute_at(s[V], V.op.axis[0])
    got = bounds(s)
    assert got["H/y"] == "range(min=y, ext=3)"
    assert got["H/x"] == "range(min=0, ext=30)"


def test_the_box_of_a_tile_is_not_clipped_by_the_guard_of_its_reader():
    A, H, V = blur(30)
    s = te.create_schedule(V.op)
    yo, xo, yi, xi = s[V].tile(V.op.axis[0], V.op.axis[1], 8, 8)
    s[H].compute_at(s[V], xo)
    got = bounds(s)
    assert got["H/y"] == "range(min=(y.outer*8), ext=10)"
    assert got["H/x"] == "range(min=(x.outer*8), ext=8)"


def test_shared_memory_holds_what_all_threads_of_a_block_read():
    A = te.placeholder((64, 32), name="A")
    B = te.compute((64, 32), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((64, 32), lambda i, j: B[i, j] + 1.0, name="C")

    def ranges(scope):
        s = te.create_schedule(C.op)
        bx, i = s[C].split(C.op.axis[0], factor=16)
        tx, i = s[C].split(i, factor=4)
        s[C].bind(bx, te.thread_axis("blockIdx.x"))
        s[C].bind(tx, te.thread_axis("threadIdx.x"))
        s[B].compute_at(s[C], tx)
        s[B].set_scope(scope)
        return bounds(s)["B/i"]

    assert ranges("local") == "range(min=((blockIdx.x*16) + (threadIdx.x*4)), ext=4)"
    assert ranges("shared") == "range(min=(blockIdx.x*16), ext=16)"
    assert ranges("global") == "range(min=0, ext=64)"


def test_a_reduce_axis_may_depend_on_a_spatial_one():
    A = te.placeholder((8, 8), name="A")
    P = te.compute((8, 8), lambda i, j: A[i, j] * 2.0, name="P")

    def triangle(i):
        k = te.reduce_axis((0, i + 1), name="k")
        return te.sum(P[i, k], axis=k)

    s = te.create_schedule(te.compute((8,), triangle, name="T").op)
    got = bounds(s)
    assert got["T/k"] == "range(min=0, ext=(i + 1))"
    assert got["P/j"] == "range(min=0, ext=8)"


def test_an_output_attached_to_another_stage_is_rejected():
    A = te.placeholder((8,), name="A")
    P = te.compute((8,), lambda i: A[i] * 2.0, name="P")
    Q = te.compute((8,), lambda i: P[i] + 1.0, name="Q")
    s = te.create_schedule(Q.op)
    s[Q].compute_at(s[P], P.op.axis[0])
    with pytest.raises(Exception, match="stage Q: Output must be attached at root; it is attached to P"):
        bounds(s)


def test_threads_of_one_axis_must_have_one_extent():
    A = te.placeholder((64,), name="A")
    P = te.compute((64,), lambda i: A[i] * 2.0, name="P")
    Q = te.compute((64,), lambda i: P[i] + 1.0, name="Q")
    s = te.create_schedule(Q.op)
    tx = te.thread_axis("threadIdx.x")
    s[P].bind(s[P].split(P.op.axis[0], factor=8)[1], tx)
    s[Q].bind(s[Q].split(Q.op.axis[0], factor=16)[1], tx)
    with pytest.raises(
        Exception, match="extent 16 from Q.i.inner, but axis i.inner of stage P bound to it has extent 8"
    ):
        bounds(s)


def test_an_attachment_off_the_path_of_a_consumer_is_rejected():
    A = te.placeholder((8,), name="A")
    P = te.compute((8,), lambda i: A[i] * 2.0, name="P")
    Q = te.compute((8,), lambda i: P[i] + 1.0, name="Q")
    R = te.compute((8,), lambda i: P[i] + Q[i], name="R")
    s = te.create_schedule(R.op)
    s[P].compute_at(s[Q], Q.op.axis[0])
    with pytest.raises(Exception, match="cannot find the producer P along the loop nest .* of consumer R"):
        bounds(s)
