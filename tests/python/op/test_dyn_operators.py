"""Operators whose shape arguments are tensors: their types, and what they compute, against their static forms."""

import numpy as np
import pytest
import tessera
from operator_check import flat, indices, tensor
from tessera import relay

ANY = relay.Any()


def run(build, *arrays, executor="debug"):
    """The results of `build(vars...)`, whose shapes values decide."""
    params = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    body = build(*params)
    body = body.astuple() if isinstance(body, relay.TupleWrapper) else body
    mod = tessera.IRModule.from_expr(relay.Function(params, body))
    out = relay.create_executor(executor, mod=mod, device=tessera.cpu(), target="llvm").evaluate()(*arrays)
    return [part.numpy() for part in (out if hasattr(out, "__len__") and not hasattr(out, "numpy") else [out])]


def check(build, want, *arrays):
    want = flat(want)
    for executor in ("debug", "vm"):
        got = run(build, *arrays, executor=executor)
        assert len(got) == len(want)
        for have, expected in zip(got, want):
            assert have.shape == np.shape(expected)
            np.testing.assert_allclose(have, expected, rtol=1e-5)


def ints(*values, dtype="int64"):
    return np.array(values, dtype)


@pytest.mark.parametrize("shape", [(6, 4), (-1, 2), (0, -1), (2, 3, 4), (-3, 4), (0, 12)])
def test_a_shape_is_computed(shape):
    x = tensor(2, 3, 4)
    want = {(0, -1): (2, 12), (-3, 4): (6, 4), (0, 12): (2, 12)}.get(shape, shape)
    check(lambda a, s: relay.reshape(a, s), x.reshape(want), x, ints(*shape))
    check(lambda a, s: relay.reshape(a, s), x.reshape(want), x, ints(*shape, dtype="int32"))


def test_tensors_are_made_of_a_computed_shape():
    check(lambda s: relay.zeros(s, "float32"), np.zeros((2, 3)), ints(2, 3))
    check(lambda s: relay.ones(s, "int32"), np.ones((0, 3)), ints(0, 3))
    check(lambda s: relay.full(relay.const(2.5), s), np.full((4,), 2.5), ints(4))
    check(lambda v, s: relay.full(v, s, "int64"), np.full((4, 1), 7), np.array(7, "int32"), ints(4, 1))


def test_tensors_are_broadcast_and_repeated():
    x = tensor(3, 1)
    check(relay.broadcast_to, np.broadcast_to(x, (2, 3, 4)), x, ints(2, 3, 4))
    check(relay.broadcast_to, np.broadcast_to(x, (3, 5)), x, ints(1, 5))
    check(relay.tile, np.tile(x, (2, 3)), x, ints(2, 3))
    check(relay.tile, np.tile(x, (2, 1, 3)), x, ints(2, 1, 3))
    check(relay.tile, np.tile(x, (4,)), x, ints(4))


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_indices_become_rows_of_a_computed_length(axis):
    i = indices(4, 2, 3)
    on, off = relay.const(1.0), relay.const(0.0)
    hot = np.moveaxis(np.eye(5)[i], -1, axis)
    check(lambda a, d: relay.one_hot(a, on, off, d, axis, "float32"), hot, i, np.array(5, "int32"))


@pytest.mark.parametrize(
    "begin, end, strides",
    [((0, 1), (3, 4), (1, 1)), ((-1, 0), (-9, 3), (-1, 2)), ((1,), (100,), (2,)), ((4, 4), (1, 1), (1, 1))],
)
def test_a_slice_is_computed(begin, end, strides):
    x = tensor(5, 6)
    slices = tuple(slice(b, None if e < -5 else e, s) for b, e, s in zip(begin, end, strides))
    check(relay.strided_slice, x[slices], x, ints(*begin), ints(*end), ints(*strides))


def test_a_slice_of_a_computed_size():
    x = tensor(5, 6)
    cut = lambda a, b, e: relay.strided_slice(a, b, e, slice_mode="size")
    check(cut, x[1:3, 2:], x, ints(1, 2), ints(2, -1))


def test_dimensions_are_added_and_dropped():
    x = tensor(1, 3, 1)
    for axis in (0, 1, -1):
        check(
            lambda a, i: relay.expand_dims(a, i, 2),
            np.expand_dims(x, (axis, axis + 1) if axis >= 0 else (3, 4)),
            x,
            ints(axis)[0],
        )
    check(relay.squeeze, x.reshape(3, 1), x, ints(0))
    check(relay.squeeze, x.reshape(3), x, ints(-1, 0))


def test_the_first_elements_are_found():
    x = tensor(3, 8)
    order = np.argsort(-x, -1)[:, :3]
    check(lambda a, k: relay.topk(a, k), [np.take_along_axis(x, order, -1), order], x, np.array(3, "int64"))
    check(lambda a, k: relay.topk(a, k, axis=0, ret_type="values", is_ascend=True), np.sort(x, 0)[:2], x, ints(2))


def test_sparse_values_become_dense():
    i, v = np.array([[0, 1], [2, 0]], "int64"), tensor(2)
    want = np.full((3, 4), -1, "float32")
    want[0, 1], want[2, 0] = v
    dense = lambda a, b, s: relay.sparse_to_dense(a, s, b, relay.const(-1.0))
    check(dense, want, i, v, ints(3, 4))


def test_images_are_padded_and_scaled():
    x = tensor(1, 2, 3, 4)
    width = np.array([[0, 0], [0, 1], [1, 2], [2, 0]], "int64")
    make = relay.op.dyn.nn._make
    check(lambda a, w: make.pad(a, w, relay.const(5.0)), np.pad(x, width, constant_values=5), x, width)
    for mode in ("edge", "reflect"):
        check(lambda a, w: make.pad(a, w, relay.const(0.0), mode), np.pad(x, width, mode=mode), x, width)
    up = lambda a, h, w: make.upsampling(a, h, w)
    check(up, x.repeat(2, 2).repeat(3, 3), x, np.array(2.0, "float32"), np.array(3.0, "float32"))
    size = lambda a, s: relay.op.dyn.image._make.resize2d(
        a,
        s,
        relay.const(np.zeros(4, "float32")),
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
        rounding_method="floor",
    )
    check(size, x.repeat(2, 2).repeat(2, 3), x, ints(6, 8))


def test_positions_and_ranges_are_found():
    c = indices(2, 3, 4)
    check(relay.argwhere, np.argwhere(c), c)
    check(relay.argwhere, np.argwhere(c > 0), c > 0)
    check(lambda a: relay.argwhere(a), np.zeros((0, 1)), np.zeros(5, "float32"))
    stop = np.array(7, "int32")
    check(lambda e: relay.arange(relay.const(1), e, relay.const(2), dtype="int32"), np.arange(1, 7, 2), stop)


def test_segments_are_summed():
    x, ids = tensor(5, 2), np.array([0, 2, 0, 1, 2], "int32")
    want = np.zeros((3, 2), "float32")
    np.add.at(want, ids, x)
    check(lambda a, i: relay.segment_sum(a, i), want, x, ids)
    check(lambda a, i: relay.segment_sum(a, i, 3), want, x, ids)


def test_a_constant_tensor_counts_as_its_numbers():
    x = relay.var("x", shape=(2, 6))
    call = relay.reshape(x, relay.const(ints(3, 4)))
    assert call.op.name == "reshape"
    assert relay.tile(x, relay.const(ints(2, 1))).op.name == "tile"
    assert relay.topk(x, relay.const(3), ret_type="values").op.name == "topk"


BAD = {
    "reshape": (lambda x, n: relay.reshape(x, n), "how many numbers it has must be known"),
    "squeeze": (lambda x, n: relay.squeeze(x, relay.shape_of(relay.zeros((1,) * 5, "float32"))), "cannot be taken"),
    "floats": (lambda x, n: relay.reshape(x, relay.sum(x, axis=0)), "newshape must be integers"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_call_says_what_is_wrong(case):
    build, message = BAD[case]
    x, n = relay.var("x", shape=(2, 3)), relay.var("n", shape=(ANY,), dtype="int64")
    with pytest.raises((TypeError, tessera.error.DiagnosticError), match=message):
        relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x, n], build(x, n))))


def test_sparse_indices_are_reshaped():
    i = np.array([[0, 0, 1], [1, 2, 3], [1, 0, 0]], "int64")
    want = np.stack(np.unravel_index(np.ravel_multi_index(i.T, (2, 3, 4)), (4, 6)), 1)
    check(relay.sparse_reshape, [want, np.array([4, 6])], i, ints(2, 3, 4), ints(4, -1))


def test_empty_rows_of_sparse_tensors_are_filled():
    i = np.array([[0, 3], [2, 1], [2, 2], [4, 0]], "int64")
    v = np.array([1, 2, 3, 4], "float32")
    rows = np.array([[0, 3], [1, 0], [2, 1], [2, 2], [3, 0], [4, 0]])
    want = [rows, np.array([1, 9, 2, 3, 9, 4], "float32"), np.array([0, 1, 0, 1, 0], bool)]
    check(relay.sparse_fill_empty_rows, want, i, v, ints(5, 4), np.array(9, "float32"))


def test_a_tensor_is_shown_while_the_program_runs():
    seen = []
    note = lambda x: seen.append(x.numpy().copy())
    x = tensor(2, 3)
    check(lambda a: relay.op.debug(a + a, note) * relay.const(2.0), 4 * x, x)
    assert seen and all(np.array_equal(tensor, x + x) for tensor in seen)


def infer(expr, *params):
    return relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(list(params), expr)))["main"].ret_type


def test_types_of_memory_and_of_what_a_machine_runs():
    x = relay.var("x", shape=(ANY, 3))
    memory, vm = relay.op.memory, relay.op.vm
    assert infer(vm.shape_of(x), x) == relay.TensorType((2,), "int64")
    shape = relay.const(ints(6))
    assert infer(vm.reshape_tensor(x, shape, (6,)), x) == relay.TensorType((6,))
    storage = memory.alloc_storage(relay.const(64, "int64"), relay.const(64, "int64"), tessera.cpu())
    made = memory.alloc_tensor(storage, relay.const(0, "int64"), relay.const(ints(2, 3)), "int8")
    assert infer(made) == relay.TensorType((2, 3), "int8")
    with pytest.raises((TypeError, tessera.error.DiagnosticError), match="const_shape or assert_shape"):
        infer(memory.alloc_tensor(storage, relay.const(0, "int64"), vm.shape_of(x)), x)


def test_tuples_are_flat_lists_of_tensors():
    leaf = relay.TensorType((2,))
    kind = relay.TupleType([leaf, relay.TupleType([leaf, leaf])])
    x = relay.var("x", kind)
    assert len(relay.op.memory.flatten_tuple_type(kind)) == 3
    parts = relay.op.memory.from_tuple_type(kind, x)
    assert infer(relay.op.memory.to_tuple_type(kind, parts), x) == kind


def test_logarithms_of_sums():
    x = tensor(3, 4, low=50, high=200)
    want = np.log(np.exp(x.astype("float64") - 200).sum(1)) + 200
    check(lambda a: relay.logsumexp(a, axis=1), want, x)
    check(lambda a: relay.logsumexp(a, axis=(1,), keepdims=True), want[:, None], x)
