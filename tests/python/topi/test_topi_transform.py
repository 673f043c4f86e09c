"""topi functions that move, search and make elements, scheduled plainly and run."""

import numpy as np
import pytest
import tessera
from tessera import te, topi

RNG = np.random.default_rng(3)


def run(build, *arrays):
    inputs = [te.placeholder(a.shape, str(a.dtype), f"x{i}") for i, a in enumerate(arrays)]
    out = build(*inputs)
    outs = [*out] if isinstance(out, (list, tuple, tessera.ir.Array)) else [out]
    schedule = te.create_schedule([t.op for t in outs])
    results = [tessera.nd.empty([int(n) for n in t.shape], t.dtype) for t in outs]
    tessera.build(schedule, [*inputs, *outs], "llvm")(*[tessera.nd.array(a) for a in arrays], *results)
    return [r.numpy() for r in results]


def floats(*shape):
    return RNG.uniform(-2, 2, shape).astype("float32")


X = floats(3, 4, 5)
CASES = {
    "transpose": (lambda x: topi.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "flip": (lambda x: topi.flip(x, -1), lambda x: x[..., ::-1]),
    "strided_slice": (lambda x: topi.strided_slice(x, [2, 1], [-9, 4], [-1, 2]), lambda x: x[::-1, 1:4:2]),
    "reshape": (lambda x: topi.reshape(x, (6, 10)), lambda x: x.reshape(6, 10)),
    "expand_like": (
        lambda x: topi.expand_like(topi.sum(x, axis=1), x, [1]),
        lambda x: np.broadcast_to(x.sum(1, keepdims=True), x.shape),
    ),
    "split": (lambda x: topi.split(x, (1, 3), axis=2), lambda x: np.split(x, (1, 3), 2)),
    "stack": (lambda x: topi.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
    "concatenate": (lambda x: topi.concatenate([x, x], -1), lambda x: np.concatenate([x, x], -1)),
    "tile": (lambda x: topi.tile(x, (2, 1)), lambda x: np.tile(x, (2, 1))),
    "repeat": (lambda x: topi.repeat(x, 2, -1), lambda x: x.repeat(2, -1)),
    "shape": (topi.shape, lambda x: np.array(x.shape)),
    "ndarray_size": (topi.ndarray_size, lambda x: np.array(x.size)),
    "trilu": (lambda x: topi.trilu(x, 0, True), np.triu),
    "einsum": (lambda x: topi.einsum("ijk->kj", x), lambda x: np.einsum("ijk->kj", x)),
    "tensordot": (lambda x: topi.tensordot(x, x, ((0, 1), (0, 1))), lambda x: np.tensordot(x, x, ((0, 1), (0, 1)))),
    "cumsum": (lambda x: topi.cumsum(x, axis=1), lambda x: x.cumsum(1)),
    "cumprod": (lambda x: topi.cumprod(x, exclusive=True), lambda x: np.concatenate([[1], x.cumprod()[:-1]])),
    "scanop": (
        lambda x: topi.scanop(x, lambda a, b: te.max(a, b), -100.0, "cummax", axis=-1),
        lambda x: np.maximum.accumulate(x, -1),
    ),
    "sort": (lambda x: topi.sort(x, 1), lambda x: np.sort(x, 1)),
    "argsort": (lambda x: topi.argsort(x, axis=0, dtype="int32"), lambda x: np.argsort(x, 0)),
    "topk": (lambda x: topi.topk(x, 2, ret_type="values"), lambda x: np.sort(x, -1)[..., :-3:-1]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_is_numpy_s(name):
    build, reference = CASES[name]
    want = reference(X)
    for have, expected in zip(run(build, X), want if isinstance(want, list) else [want]):
        assert have.shape == np.shape(expected)
        np.testing.assert_allclose(have, expected, rtol=1e-4, atol=1e-5)


def test_a_few_of_each_line_are_sorted():
    x, counts = floats(3, 6), np.array([6, 3, 0], "int32")
    got = run(lambda a, n: topi.argsort(a, n, axis=1, is_ascend=False, dtype="int32"), x, counts)[0]
    np.testing.assert_array_equal(got[0], np.argsort(-x[0], kind="stable"))
    np.testing.assert_array_equal(got[1], [*np.argsort(-x[1, :3], kind="stable"), 3, 4, 5])
    np.testing.assert_array_equal(got[2], range(6))


def test_numbers_are_made():
    np.testing.assert_array_equal(run(lambda: topi.arange(1, 8, 3, "int32"))[0], [1, 4, 7])
    grid = run(lambda a, b: topi.meshgrid([a, b], "xy"), floats(2), floats(3))
    assert grid[0].shape == grid[1].shape == (3, 2)
    np.testing.assert_array_equal(
        run(lambda a, b: topi.matmul(a, b, transp_b=True), np.eye(3), np.eye(3))[0], np.eye(3)
    )


def test_contraction_over_one_axis_of_each():
    a, b = floats(3, 4, 5), floats(5, 4, 2)
    (got,) = run(lambda x, y: topi.tensordot(x, y, axes=(1, 1)), a, b)
    np.testing.assert_allclose(got, np.tensordot(a, b, axes=(1, 1)), 1e-5, 1e-5)
    (got,) = run(lambda x, y: topi.tensordot(x, y, axes=(-1, 0)), a, b)
    np.testing.assert_allclose(got, np.tensordot(a, b, axes=(-1, 0)), 1e-5, 1e-5)


@pytest.mark.parametrize("begin, end, strides", [((1, -1), (6, 0), (2, -2)), ((0, 3), (4, 100), (1, 1))])
def test_a_slice_that_tensors_decide(begin, end, strides):
    x = floats(7, 8)
    a = te.placeholder(x.shape, "float32")
    numbers = [te.placeholder((2,), "int64", name) for name in ("begin", "end", "strides")]
    out = topi.add(topi.strided_slice(a, *numbers), tessera.tir.const(1.0, "float32"))
    program = tessera.build(te.create_schedule(out.op), [a, *numbers, out], "llvm")
    wanted = x[tuple(slice(*numbers) for numbers in zip(begin, end, strides))] + 1
    result = tessera.nd.empty(wanted.shape)
    program(tessera.nd.array(x), *(tessera.nd.array(np.array(n, "int64")) for n in (begin, end, strides)), result)
    np.testing.assert_array_equal(result.numpy(), wanted)


def test_tiles_of_nothing():
    assert [int(n) for n in topi.tile(te.placeholder((0, 3)), (2, 2)).shape] == [0, 6]
    assert run(lambda x: topi.tile(x, (2, 2)), np.zeros((0, 3), "float32"))[0].shape == (0, 6)


def test_lengths_of_another_batch_are_rejected():
    with pytest.raises(ValueError, match="5 lengths for a batch of 4"):
        topi.reverse_sequence(te.placeholder((4, 3)), te.placeholder((5,), "int64"), 1, 0)


def test_both_modes_of_depth_to_space():
    x = floats(1, 8, 2, 3)
    (crd,), (cdr,) = (run(lambda d, m=mode: topi.nn.depth_to_space(d, 2, mode=m), x) for mode in ("CRD", "CDR"))
    np.testing.assert_array_equal(crd, cdr)
    np.testing.assert_array_equal(crd, x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6))


def test_several_tensors_of_an_extern_are_a_list():
    both = topi.topk(te.placeholder((4, 6)), 2, ret_type="both")
    assert isinstance(both, list) and len(both) == 2
    assert isinstance(topi.generic.schedule_topk(both), te.Schedule)
