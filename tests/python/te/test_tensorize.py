"""Tensor intrinsics in place of loops."""

import pytest
import tessera
from tessera import te, tir


def gemv(m, l):
    """c[i] = sum over k of a[k] * b[i, k], by two calls of an instruction."""
    a = te.placeholder((l,), name="a")
    b = te.placeholder((m, l), name="b")
    k = te.reduce_axis((0, l), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    binds = {
        a: tir.decl_buffer(a.shape, a.dtype, name="Ab", offset_factor=1, strides=[1]),
        b: tir.decl_buffer(b.shape, b.dtype, name="Bb", offset_factor=1, strides=[te.var("s1"), 1]),
        c: tir.decl_buffer(c.shape, c.dtype, name="Cb", offset_factor=1, strides=[1]),
    }

    def body(ins, outs):
        update = tir.call_extern("int32", "gemv_update", outs[0].access_ptr("w"), ins[0].access_ptr("r"))
        reset = tir.call_extern("int32", "gemv_reset", outs[0].access_ptr("w"))
        return update, reset, update

    return te.decl_tensor_intrin(c.op, body, binds=binds)


def product(transposed=True):
    A = te.placeholder((16, 32), name="A")
    B = te.placeholder((24, 32) if transposed else (32, 24), name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((16, 24), lambda i, j: te.sum(A[i, k] * (B[j, k] if transposed else B[k, j]), axis=k), name="C")
    return A, B, C


def tiled(C):
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], factor=8)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=16)
    s[C].reorder(C.op.axis[0], jo, ko, ji, ki)
    return s, ji


def test_a_split_reduction_resets_then_updates(phase0):
    A, B, C = product()
    s, ji = tiled(C)
    s[C].tensorize(ji, gemv(8, 16))
    text = phase0(s, [A, B, C])
    assert text.index("gemv_reset") < text.index("for (k.outer: int32, 0, 2)") < text.index("gemv_update")
    assert "@tir.tvm_tuple((j.outer*8), 8, (k.outer*16), 16, dtype=handle)" in text
    assert "j.inner" not in text and "k.inner" not in text


def test_guards_of_loops_around_the_intrinsic_hold_it_and_its_reset(phase0):
    A, B, C = product()
    s, ji = tiled(C)
    io, ii = s[C].split(C.op.axis[0], factor=6)
    s[C].reorder(io, s[C].leaf_iter_vars[2], s[C].leaf_iter_vars[3], ii, ji)
    s[C].tensorize(ji, gemv(8, 16))
    text = phase0(s, [A, B, C])
    assert text.count("if @tir.likely") == 2
    assert "((i.outer*6) + i.inner.init) < 16" in text and "((i.outer*6) + i.inner) < 16" in text


def test_a_guard_of_a_loop_that_the_intrinsic_replaces_is_rejected(phase0):
    A, B, C = product()
    s = te.create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], factor=7)
    s[C].reorder(C.op.axis[0], jo, ji, C.op.reduce_axis[0])
    s[C].tensorize(ji, gemv(7, 32))
    with pytest.raises(Exception, match="relies on var defined inside tensorize scope"):
        phase0(s, [A, B, C])


def test_a_body_that_is_not_what_the_intrinsic_computes_is_rejected(phase0):
    A, B, C = product(transposed=False)
    s, ji = tiled(C)
    s[C].tensorize(ji, gemv(8, 16))
    with pytest.raises(Exception, match="Failed to match the compute with TensorIntrin tensor_intrin's declaration"):
        phase0(s, [A, B, C])


def test_an_extent_that_does_not_fit_the_intrinsic_is_named(phase0):
    A, B, C = product()
    s, ji = tiled(C)
    s[C].tensorize(ji, gemv(4, 16))
    with pytest.raises(Exception, match=r"the extent of axis j \(8, declared 4\) differs"):
        phase0(s, [A, B, C])


def test_a_computation_may_call_the_intrinsic_itself(phase0):
    A = te.placeholder((16, 8), name="A")
    a = te.placeholder((8,), name="a")
    c = te.compute((8,), lambda i: a[i] + 1.0, name="c")
    plus = te.decl_tensor_intrin(
        c.op,
        lambda ins, outs: tir.call_extern("int32", "plus", ins[0].access_ptr("r"), outs[0].access_ptr("w")),
        default_buffer_params={"offset_factor": 1},
    )
    C = te.compute((16, 8), lambda i: plus(A[i, 0:8]), name="C")
    assert isinstance(C.op, tessera.te.TensorComputeOp)
    text = phase0(te.create_schedule(C.op), [A, C])
    assert "for (i: int32, 0, 16)" in text and "plus" in text
    assert "@tir.tvm_tuple(i, 1, 0, 8, dtype=handle)" in text


def test_what_an_instruction_covers_can_be_asked_for():
    A, B, C = product()
    s, ji = tiled(C)
    instruction = gemv(8, 16)
    s[C].tensorize(ji, instruction)
    s = s.normalize()
    axes, inputs = tessera.get_global_func("test.op.InferTensorizeRegion")(s[C], te.schedule.InferBound(s))
    i, j = C.op.axis
    outer = s[C].leaf_iter_vars[1]
    assert axes[i].extent == 1 and axes[j].extent == 8
    assert tessera.ir.structural_equal(axes[j].min, outer * 8)
    assert [r.extent.value for r in inputs[B]] == [8, 16]
    body = tessera.get_global_func("test.op.MatchTensorizeBody")(s[C], axes, inputs, instruction)[0]
    simplify = tessera.arith.Analyzer().simplify
    assert tessera.ir.structural_equal(simplify(body), simplify(instruction.op.body[0]))
