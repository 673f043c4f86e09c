"""Operators that move, choose and make elements, compiled and run, against NumPy."""

import numpy as np
import pytest
import tessera
from operator_check import indices, tensor, verify
from tessera import relay


@pytest.mark.parametrize(
    "begin, end, options",
    [
        ([1, 0, 2], [4, 3, 7], {}),
        ([0, 0, 0], [5, 4, 8], {"strides": [2, 1, 3]}),
        ([-1, 3, 7], [-10, 0, 1], {"strides": [-1, -2, -3]}),
        ([1], [3], {}),
        ([1], [5], {"axes": [2]}),
        ([1, -3], [100, 2**31 - 1], {"axes": [0, -1], "strides": [2, 1]}),
        ([1, 1, 1], [2, -1, 3], {"slice_mode": "size"}),
        ([4, 3], [2, 1], {}),
        ([-100, 0], [2**63 - 1, 2**63 - 1], {}),
        ([-1, -1, -1], [-(2**31), -5, -9], {"strides": [-1, -1, -1]}),
    ],
)
def test_a_slice_is_python_s(begin, end, options):
    verify(lambda x: relay.strided_slice(x, begin, end, **options), tensor(5, 4, 8))


def test_a_slice_is_set():
    x = tensor(5, 6)
    verify(lambda a, v: relay.strided_set(a, v, [1, 0], [4, 6], [2, 3]), x, tensor(2, 2))
    verify(lambda a, v: relay.strided_set(a, v, [4, 1], [-6, 3], [-2, 1]), x, tensor(3, 2))
    verify(lambda a, v: relay.strided_set(a, v, [1, 2], [3, 4]), x, tensor(2, 2))
    verify(lambda a, b: relay.slice_like(a, b), x, tensor(3, 2))
    verify(lambda a, b: relay.slice_like(a, b, axes=(-1,)), x, tensor(7, 2))


def test_elements_are_chosen_by_index():
    x = tensor(4, 5, 6)
    for axis in (0, 1, -1, None):
        for mode in ("clip", "wrap"):
            verify(lambda a, i: relay.take(a, i, axis=axis, mode=mode), x, indices(9, 2, 3, low=-9))
    verify(lambda a, i: relay.take(a, i, axis=1, mode="fast"), x, indices(5, 3, dtype="int64"))
    verify(lambda a, i: relay.take(a, i, axis=1), x, np.array(2, "int32"))
    verify(lambda a, i: relay.take(a, i, axis=2, batch_dims=1), x, indices(6, 4, 2))
    verify(lambda a, i: relay.take(a, i, axis=1, batch_dims=-1), x, indices(5, 4, 3))
    verify(lambda a, i: relay.gather(a, 1, i), x, indices(5, 4, 3, 6))
    verify(lambda a, i: relay.gather(a, -1, i), x, indices(6, 4, 5, 2, dtype="int64"))
    verify(lambda a, i: relay.gather_nd(a, i), x, indices(4, 2, 3))
    verify(lambda a, i: relay.gather_nd(a, i), x, indices(4, 3, 7, 2))
    verify(lambda a, i: relay.gather_nd(a, i, batch_dims=1), x, indices(5, 1, 4))
    verify(lambda a, i: relay.gather_nd(a, i, batch_dims=1), x, indices(5, 2, 4, 3))
    verify(lambda a, i, j: relay.adv_index([a, i, j]), x, indices(4, 3, 1), indices(5, 2))
    verify(lambda a, i: relay.adv_index([a, i]), x, indices(4, 3, dtype="int64"))


def test_a_condition_chooses():
    verify(relay.where, tensor(3, 1, dtype="bool"), tensor(3, 4), tensor(4))
    verify(relay.where, indices(2, 3, 4), tensor(3, 4), tensor(3, 4))
    verify(relay.where, tensor(0, 4, dtype="bool"), tensor(4), tensor(1, 4))
    nan = np.array([np.nan, np.inf, 1], "float32")
    verify(relay.where, np.array([True, False, True]), nan, nan[::-1].copy())


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_an_index_becomes_a_row(axis):
    on, off = relay.const(2, "int32"), relay.const(-1, "int32")
    verify(lambda i: relay.one_hot(i, on, off, 5, axis, "int32"), indices(7, 3, low=-2))
    verify(lambda i: relay.one_hot(i, relay.const(1.0), relay.const(0.0), 4, axis, "float32"), indices(4, 2, 3))


def test_elements_are_repeated_and_broadcast():
    x = tensor(2, 3)
    for reps in ((2,), (2, 3), (2, 1, 3), (1, 0)):
        verify(lambda a: relay.tile(a, reps), x)
    verify(lambda a: relay.tile(a, (3,)), tensor())
    for axis in (0, 1, -1):
        verify(lambda a: relay.repeat(a, 3, axis), x)
    verify(lambda a: relay.broadcast_to(a, (4, 2, 3)), x)
    verify(lambda a: relay.broadcast_to(a, (2, 3)), tensor(2, 1))
    verify(lambda a: relay.broadcast_to(a, (2, 3)), tensor())
    verify(relay.broadcast_to_like, tensor(3, 1), tensor(2, 3, 4))
    verify(relay.collapse_sum_like, tensor(2, 3, 4), tensor(3, 1))
    verify(relay.collapse_sum_like, tensor(2, 3), tensor(2, 3))
    verify(lambda a: relay.collapse_sum_to(a, (1, 4)), tensor(2, 3, 4))
    verify(lambda a: relay.collapse_sum_to(a, ()), tensor(2, 3, dtype="int32", high=9))


def test_elements_are_turned_round_and_masked():
    x = tensor(4, 5, 3)
    for axis in (0, 1, -1):
        verify(lambda a: relay.reverse(a, axis), x)
    verify(lambda a, n: relay.reverse_sequence(a, n), x, np.array([0, 1, 3, 5], "int32"))
    verify(lambda a, n: relay.reverse_sequence(a, n, 0, 2), x, np.array([4, 0, 2], "int64"))
    verify(lambda a, n: relay.sequence_mask(a, n), x, np.array([0, 1, 2, 3, 4], "int32"))
    verify(lambda a, n: relay.sequence_mask(a, n, mask_value=-7.5, axis=1), x, np.array([5, 0, 2, 9], "int32"))
    for k in (-2, 0, 1):
        for upper in (True, False):
            verify(lambda a: relay.trilu(a, k, upper), x)
            verify(lambda a, j: relay.trilu(a, j, upper), x, np.array(k, "int64"))


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_diagonals_are_set(align):
    verify(lambda a, d: relay.matrix_set_diag(a, d), tensor(2, 3, 4), tensor(2, 3))
    verify(lambda a, d: relay.matrix_set_diag(a, d, k=1), tensor(3, 4), tensor(3))
    verify(lambda a, d: relay.matrix_set_diag(a, d, k=-1), tensor(3, 4), tensor(2))
    verify(lambda a, d: relay.matrix_set_diag(a, d, k=(-1, 2), align=align), tensor(2, 3, 4), tensor(2, 4, 3))


def test_shapes_become_tensors_and_back():
    x = tensor(2, 3, 4)
    verify(relay.shape_of, x)
    verify(lambda a: relay.shape_of(a, "int64"), tensor(0, 5))
    verify(relay.ndarray_size, x)
    verify(lambda a: relay.ndarray_size(a, "int64"), tensor())
    verify(lambda i: relay.unravel_index(i, relay.const(np.array([2, 3, 4], "int32"))), indices(24, 5))
    verify(lambda i: relay.unravel_index(i, relay.const(np.array([5, 5], "int64"))), indices(25, 2, 3, dtype="int64"))
    verify(relay.reshape_like, x, tensor(6, 4))
    verify(lambda a, b: relay.reshape_like(a, b, lhs_begin=1, rhs_begin=1, rhs_end=3), x, tensor(7, 2, 6, 5))
    verify(lambda a, b: relay.reshape_like(a, b, lhs_end=2, rhs_begin=-1), x, tensor(9, 6))
    verify(lambda a: relay.reverse_reshape(a, (-1, 0)), x)
    verify(lambda a: relay.reverse_reshape(a, (-3, 0)), x)


def test_tensors_are_made():
    verify(lambda: relay.arange(relay.const(10), dtype="int32"))
    verify(lambda: relay.arange(relay.const(1.0), relay.const(-2.0), relay.const(-0.4)))
    verify(lambda: relay.arange(relay.const(5), relay.const(5), relay.const(1), dtype="int64"))
    verify(lambda: relay.full(relay.const(2.5), (2, 0, 3)))
    verify(lambda: relay.full(relay.const(7), (), "int64"))
    verify(lambda v: relay.full(v, (2, 3)), np.array(3.5, "float32"))
    for order in ("ij", "xy"):
        verify(lambda a, b, c: relay.meshgrid([a, b, c], order), tensor(2), tensor(3), tensor())


def test_types_are_changed():
    x = tensor(3, 5, low=-200, high=200)
    verify(relay.cast_like, x, tensor(1, dtype="int32"))
    verify(lambda a: relay.cast(a, "bool"), indices(2, 4))
    verify(lambda a: relay.fixed_point_multiply(a, 1 << 30, 2), indices(10000, 9, low=-10000))
    verify(lambda a: relay.fixed_point_multiply(a, 1395864371, -3), indices(10000, 9, low=-10000))


def test_windows_slide():
    x = tensor(2, 6, 7)
    got = verify_windows(x, 1, (3, 2), (2, 1))
    assert got.shape == (2, 2, 6, 3, 2)
    verify_windows(x, 2, (4,), (3,))


def verify_windows(x, axis, window, strides):
    from operator_check import as_function, run_function

    got = run_function(as_function(lambda a: relay.sliding_window(a, axis, window, strides), [x]), [x])[0]
    want = np.lib.stride_tricks.sliding_window_view(x, window, axis=tuple(range(axis, x.ndim)))
    steps = (slice(None),) * axis + tuple(slice(None, None, s) for s in strides)
    np.testing.assert_array_equal(got, want[steps])
    return got


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ijk->", [(2, 3, 4)]),
        ("bij,bjk,bk->bi", [(2, 3, 4), (2, 4, 5), (2, 5)]),
        ("...ij,...jk->...ik", [(5, 1, 2, 3), (6, 3, 4)]),
        ("i...,j->...j", [(2, 3), (4,)]),
    ],
)
def test_products_are_summed_by_an_equation(equation, shapes):
    verify(lambda *xs: relay.einsum(xs, equation), *[tensor(*shape) for shape in shapes], rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"onesided": False}, {"normalized": True, "hop_length": 3}])
def test_a_signal_is_transformed(options):
    verify(lambda x, w: relay.stft(x, 16, window=w, **options), tensor(2, 50), tensor(16), rtol=1e-3, atol=1e-4)
    verify(lambda x, w: relay.stft(x, 16, win_length=10, window=w, **options), tensor(1, 40), tensor(10), atol=1e-4)


BAD = {
    "einsum": (lambda x: relay.einsum([x], "ijk->i"), "names 3 dimensions of operand 0"),
    "einsum letter": (lambda x: relay.einsum([x], "ij->k"), "has k in its result alone"),
    "einsum extents": (lambda x: relay.einsum([x, x], "ij,jk->ik"), "has the extents 2 and 3"),
    "a slice of stride 0": (lambda x: relay.strided_slice(x, [0], [1], [0]), "stride 0"),
    "too many bounds": (lambda x: relay.strided_slice(x, [0] * 3, [1] * 3), "3 bounds for a tensor of 2 dimensions"),
    "slice_mode": (lambda x: relay.strided_slice(x, [0], [1], slice_mode="middle"), "slice_mode"),
    "take of floats": (lambda x: relay.take(x, x), "indices must be integers"),
    "take mode": (lambda x: relay.take(x, relay.const([0]), mode="raise"), "mode"),
    "gather rank": (lambda x: relay.gather(x, 0, relay.const([0])), "indices must have 2 dimensions"),
    "one_hot axis": (
        lambda x: relay.one_hot(relay.const([1]), x, x, 3, 4, "float32"),
        "on_value must have 0 dimensions",
    ),
    "broadcast": (lambda x: relay.broadcast_to(x, (4, 5)), "cannot be"),
    "repeat": (lambda x: relay.repeat(x, 0, 0), "repeats is 0"),
    "reverse": (lambda x: relay.reverse(x, 2), "axis 2 is out of range"),
    "slice_like": (lambda x: relay.slice_like(x, relay.const(np.zeros((5, 2)))), "cannot be taken"),
    "reinterpret": (lambda x: relay.reinterpret(x, "int8"), "differ in size"),
    "meshgrid": (lambda x: relay.meshgrid([x]).astuple(), "made of vectors"),
    "reshape_like": (lambda x: relay.reshape_like(x, relay.const(np.zeros((5, 2)))), "cannot be reshaped like"),
    "trilu": (lambda x: relay.trilu(relay.sum(x), 0), "two dimensions or more"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_call_says_what_is_wrong(case):
    build, message = BAD[case]
    x = relay.var("x", shape=(3, 2))
    with pytest.raises((TypeError, tessera.error.DiagnosticError), match=message):
        relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], build(x))))


@pytest.mark.parametrize(
    "source, target, message",
    [
        ("4N8C", "2C4N4C", "but src_layout is 4N8C"),
        ("3N8C", "2C3N8C", "has other extents"),
        ("3N8C", "8C", "has other"),
    ],
)
def test_a_tiled_layout_that_is_not_the_datas_is_rejected(source, target, message):
    attrs = tessera.ir.make_node("relay.attrs.AutoSchedulerLayoutTransformAttrs", src_layout=source, dst_layout=target)
    body = relay.Call(tessera.ir.Op.get("auto_scheduler_layout_transform"), [relay.var("x", shape=(3, 8))], attrs)
    with pytest.raises(tessera.error.DiagnosticError, match=message):
        relay.transform.InferType()(tessera.IRModule.from_expr(body))


def test_extents_of_one_letter_are_equal_at_run_time():
    a, b = (relay.var(name, shape=(relay.Any(), relay.Any())) for name in "ab")
    mod = tessera.IRModule.from_expr(relay.Function([a, b], relay.einsum((a, b), "ij,jk->ik")))
    run = relay.create_executor("vm", mod).evaluate()
    assert run(np.ones((2, 3), "float32"), np.ones((3, 4), "float32")).shape == (2, 4)
    with pytest.raises(ValueError, match="do not fit together"):
        run(np.ones((2, 5), "float32"), np.ones((3, 4), "float32"))
