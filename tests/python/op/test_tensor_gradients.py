"""Gradients of tensor operators against finite differences of what the operators mean in NumPy."""

import numpy as np
import pytest
import tessera
from operator_check import RNG, flat, indices, run_function
from references import REFERENCES, evaluate
from tessera import relay


def real(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape)


def apart(*shape):
    """Numbers that are not close to each other nor to an integer, so that nothing jumps nearby."""
    count = int(np.prod(shape))
    return ((RNG.permutation(count) - count / 2) * 0.5 + 0.23).reshape(shape)


def check(build, *arrays, rtol=1e-4, atol=1e-6, step=1e-5):
    """The gradient of a weighted sum of all results by each float argument."""
    params = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    body = build(*params)
    parts = [*body] if isinstance(body, relay.TupleWrapper) else [body]
    values = {f"x{i}": a for i, a in enumerate(arrays)}
    total, weights = None, [RNG.uniform(0.5, 1.5, np.shape(v)) for v in flat([evaluate(p, values) for p in parts])]
    for part, weight in zip(parts, weights):
        term = relay.sum(relay.cast(part, "float64") * relay.const(weight, "float64"))
        total = term if total is None else total + term
    forward = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(params, total)))["main"]
    backward = relay.transform.gradient(forward, mode="first_order")
    got = run_function(backward, arrays)[1:]
    assert len(got) == len(arrays)
    for i, array in enumerate(arrays):
        assert got[i].shape == array.shape
        if array.dtype.kind != "f":
            np.testing.assert_array_equal(got[i], np.zeros_like(array))
            continue
        numeric = np.zeros_like(array)
        for at in np.ndindex(*array.shape):
            sums = []
            for move in (step, -step):
                moved = array.copy()
                moved[at] += move
                sums.append(float(evaluate(total, {**values, f"x{i}": moved})))
            numeric[at] = (sums[0] - sums[1]) / (2 * step)
        np.testing.assert_allclose(got[i], numeric, rtol=rtol, atol=atol, err_msg=f"argument {i}")


UNIT, ABOVE_ONE, POSITIVE = {"low": -0.9, "high": 0.9}, {"low": 1.1, "high": 3.0}, {"low": 0.3, "high": 3.0}
RANGES = {
    **dict.fromkeys(("acos", "asin", "atanh"), UNIT),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), POSITIVE),
    "acosh": ABOVE_ONE,
    "tan": {"low": -1.2, "high": 1.2},
}
SMOOTH = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "erf",
    "exp",
    "hardswish",
    "log",
    "log10",
    "log2",
    "negative",
    "copy",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
STEPS = ["abs", "floor", "ceil", "trunc", "round", "sign", "zeros_like", "ones_like"]


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_function_of_each_element(name):
    check(getattr(relay, name), real(2, 5, **RANGES.get(name, {})))


@pytest.mark.parametrize("name", STEPS)
def test_a_function_with_steps(name):
    check(getattr(relay, name), apart(2, 5))


@pytest.mark.parametrize("name", ["exp", "tanh", "erf"])
def test_a_quick_function_has_the_gradient_of_the_exact_one(name):
    x, array = relay.var("x0", shape=(7,)), real(7).astype("float32")
    run = lambda body: run_function(relay.transform.gradient(relay.Function([x], body), mode="first_order"), [array])[1]
    quick = run(relay.Call(tessera.ir.Op.get("fast_" + name), [x]))
    np.testing.assert_allclose(quick, run(getattr(relay, name)(x)), rtol=1e-3, atol=1e-4)


BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "minimum",
    "mod",
    "trunc_mod",
    "floor_mod",
    "floor_divide",
    "trunc_divide",
]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((2, 3, 4), (4,)), ((), (2, 3))])
def test_operands_that_were_broadcast_get_sums(name, shapes):
    low = 0.4 if name in ("power", "divide") or "mod" in name or "div" in name else -2.0
    check(getattr(relay, name), real(*shapes[0], low=low), real(*shapes[1], low=low) + 0.003)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons_have_no_gradient(name):
    check(getattr(relay, name), apart(3, 4), apart(4) + 0.01)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize(
    "options", [{}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"axis": 0, "exclude": True}]
)
def test_a_reduction(name, options):
    check(lambda x: getattr(relay, name)(x, **options), apart(2, 3, 4) * 0.2)


def test_a_product_with_zeros():
    x = real(3, 4)
    x[0, 1] = x[1, 2] = x[1, 3] = 0
    check(lambda a: relay.prod(a, axis=1), x)


def test_variances():
    check(lambda x: relay.variance(x, axis=1), real(2, 3, 4))
    check(lambda x: relay.variance(x, axis=(0, 2), keepdims=True, unbiased=True), real(2, 3, 4))
    check(lambda x, m: relay.variance(x, axis=1, with_mean=m), real(2, 3), real(2, 1))
    check(lambda x: relay.std(x, axis=0), real(3, 4))


X = (2, 3, 4)
CASES = {
    "adv_index": lambda: (
        lambda x, i, j: relay.adv_index([x, i, j]),
        real(4, 5, 2),
        indices(4, 3, 1, dtype="int64"),
        indices(5, 2, dtype="int64"),
    ),
    "broadcast_to": lambda: (lambda x: relay.broadcast_to(x, (2, 3, 4)), real(3, 1)),
    "broadcast_to_like": lambda: (relay.broadcast_to_like, real(3, 1), real(*X)),
    "cast": lambda: (lambda x: relay.cast(x, "float64"), real(3)),
    "cast_like": lambda: (relay.cast_like, real(3), real(1)),
    "clip": lambda: (lambda x: relay.clip(x, -0.5, 1.0), apart(9)),
    "collapse_sum_like": lambda: (relay.collapse_sum_like, real(*X), real(3, 1)),
    "collapse_sum_to": lambda: (lambda x: relay.collapse_sum_to(x, (1, 4)), real(*X)),
    "concatenate": lambda: (lambda a, b: relay.concatenate([a, b, a], -1), real(2, 3), real(2, 1)),
    "contrib_reverse_reshape": lambda: (lambda x: relay.reverse_reshape(x, (-1, 0)), real(*X)),
    "cumsum": lambda: (lambda x: relay.cumsum(x, axis=1), real(*X)),
    "cumsum flat": lambda: (lambda x: relay.cumsum(x, exclusive=True), real(2, 3)),
    "cumsum exclusive": lambda: (lambda x: relay.cumsum(x, axis=-1, exclusive=True), real(2, 3)),
    "cumprod": lambda: (lambda x: relay.cumprod(x, axis=1), real(*X)),
    "cumprod flat": lambda: (lambda x: relay.cumprod(x, exclusive=True), real(2, 3)),
    "cumprod zeros": lambda: (
        lambda x: relay.cumprod(x, axis=-1),
        np.array([[1.5, 0.0, 2.0, 0.0, 3.0], [0.0, 2.0, 0.5, 1.5, 0.0], [1.0, 2.0, 3.0, 0.5, 0.0]]),
    ),
    "cumprod exclusive": lambda: (
        lambda x: relay.cumprod(x, axis=0, exclusive=True),
        np.array([[1.5, 2.0], [0.0, 0.5], [2.0, 0.0], [3.0, 0.0]]),
    ),
    "einsum": lambda: (lambda a, b: relay.einsum([a, b], "ij,jk->ki"), real(2, 3), real(3, 4)),
    "einsum diagonal": lambda: (lambda a, b: relay.einsum([a, b], "iij,jk->ik"), real(2, 2, 3), real(3, 4)),
    "einsum trace": lambda: (lambda a: relay.einsum([a], "...ii->..."), real(2, 3, 3)),
    "einsum thrice": lambda: (lambda a: relay.einsum([a], "iii->i"), real(3, 3, 3)),
    "einsum alone": lambda: (lambda a, b: relay.einsum([a, b], "ijm,ik->k"), real(2, 3, 2), real(2, 4)),
    "einsum batched": lambda: (lambda a, b: relay.einsum([a, b], "...ij,...jk"), real(3, 2, 2), real(1, 2, 3)),
    "expand_dims": lambda: (lambda x: relay.expand_dims(x, -2, 2), real(2, 3)),
    "full": lambda: (lambda v: relay.full(v, (2, 3)), real()),
    "full_like": lambda: (relay.full_like, real(2, 3), real()),
    "gather": lambda: (lambda x, i: relay.gather(x, 1, i), real(3, 4), indices(4, 3, 6)),
    "gather_nd": lambda: (lambda x, i: relay.gather_nd(x, i), real(4, 5, 2), indices(4, 2, 3)),
    "gather_nd batches": lambda: (
        lambda x, i: relay.gather_nd(x, i, batch_dims=1),
        real(2, 5, 2),
        indices(5, 1, 2, 3),
    ),
    "layout_transform": lambda: (lambda x: relay.layout_transform(x, "NCHW", "NCHW2c"), real(1, 4, 2, 2)),
    "matrix_set_diag": lambda: (
        lambda x, d: relay.matrix_set_diag(x, d, (-1, 1), "LEFT_RIGHT"),
        real(2, 3, 4),
        real(2, 3, 3),
    ),
    "meshgrid": lambda: (lambda a, b, c: relay.meshgrid([a, b, c], "xy"), real(2), real(3), real()),
    "one_hot": lambda: (
        lambda i, on, off: relay.one_hot(i, on, off, 4, 0, "float64"),
        indices(5, 3),
        real(),
        real(),
    ),
    "repeat": lambda: (lambda x: relay.repeat(x, 3, 1), real(*X)),
    "reshape": lambda: (lambda x: relay.reshape(x, (4, -1)), real(*X)),
    "reshape_like": lambda: (relay.reshape_like, real(*X), real(6, 4)),
    "reverse": lambda: (lambda x: relay.reverse(x, 1), real(*X)),
    "reverse_sequence": lambda: (relay.reverse_sequence, real(3, 4), np.array([2, 4, 0], "int32")),
    "scatter": lambda: (
        lambda x, i, u: relay.scatter(x, i, u, 1),
        real(2, 5),
        np.array([[0, 3], [4, 1]], "int64"),
        real(2, 2),
    ),
    "scatter_add": lambda: (lambda x, i, u: relay.scatter_add(x, i, u, 0), real(3, 2), indices(3, 4, 2), real(4, 2)),
    "scatter_nd": lambda: (relay.scatter_nd, real(4, 2), np.array([[3, 0]], "int64"), real(2, 2)),
    "scatter_nd add": lambda: (
        lambda x, i, u: relay.scatter_nd(x, i, u, "add"),
        real(4, 2),
        np.array([[3, 3]], "int64"),
        real(2, 2),
    ),
    **{
        f"scatter_nd {mode}": lambda mode=mode: (
            lambda x, i, u: relay.scatter_nd(x, i, u, mode),
            apart(4, 2) * 0.1,
            np.array([[3, 0, 3]], "int64"),
            apart(3, 2) * 0.13,
        )
        for mode in ("min", "max", "mul")
    },
    "scatter_nd zeros": lambda: (
        lambda x, i, u: relay.scatter_nd(x, i, u, "mul"),
        np.array([2.0, 0.0, 3.0]),
        np.array([[0, 0, 1, 2, 2, 2]], "int64"),
        np.array([0.0, 4.0, 5.0, 0.0, 0.0, 2.0]),
    ),
    "sparse_to_dense": lambda: (
        lambda i, v, d: relay.sparse_to_dense(i, (3, 4), v, d),
        np.array([[0, 1], [2, 3], [2, 3]], "int32"),
        real(3),
        real(),
    ),
    "sparse_to_dense line": lambda: (
        lambda i, v, d: relay.sparse_to_dense(i, (6,), v, d),
        np.array([1, 4], "int32"),
        real(),
        real(),
    ),
    "stft": lambda: (lambda x, w: relay.stft(x, 6, 2, 4, w, False, True), real(2, 11), real(4)),
    "stft normalized": lambda: (lambda x, w: relay.stft(x, 5, 3, 5, w, True, False), real(1, 12), real(5)),
    "sequence_mask": lambda: (
        lambda x, n: relay.sequence_mask(x, n, 3.0, axis=1),
        real(3, 4),
        np.array([2, 0, 4], "int32"),
    ),
    "slice_like": lambda: (relay.slice_like, real(4, 5), real(2, 3)),
    "sort": lambda: (lambda x: relay.sort(x, axis=0, is_ascend=False), apart(4, 3)),
    "split": lambda: (lambda x: relay.split(x, (1, 3), axis=1), real(2, 4)),
    "squeeze": lambda: (lambda x: relay.squeeze(x, (0, -1)), real(1, 3, 1)),
    "stack": lambda: (lambda a, b: relay.stack([a, b], 1), real(2, 3), real(2, 3)),
    "strided_set": lambda: (
        lambda x, v: relay.strided_set(x, v, [1, 0], [4, 5], [2, 3]),
        real(5, 5),
        real(2, 2),
    ),
    "strided_slice": lambda: (lambda x: relay.strided_slice(x, [1, 0], [5, 9], [2, 3]), real(6, 7)),
    "strided_slice backwards": lambda: (lambda x: relay.strided_slice(x, [-1, 4], [-9, 1], [-1, -2]), real(3, 6)),
    "strided_slice axes": lambda: (
        lambda x: relay.strided_slice(x, [1], [2], axes=[-1], slice_mode="size"),
        real(3, 6),
    ),
    "take": lambda: (lambda x, i: relay.take(x, i, axis=1), real(*X), indices(5, 2, 3, low=-2)),
    "take wrapped": lambda: (lambda x, i: relay.take(x, i, axis=-1, mode="wrap"), real(*X), indices(9, 5, low=-9)),
    "take flat": lambda: (lambda x, i: relay.take(x, i), real(2, 3), indices(6, 4)),
    "take one": lambda: (lambda x, i: relay.take(x, i, axis=0), real(3, 2), np.array(1, "int32")),
    "take batches": lambda: (
        lambda x, i: relay.take(x, i, axis=2, batch_dims=1, mode="clip"),
        real(2, 3, 4),
        indices(6, 2, 2, low=-2),
    ),
    "tile": lambda: (lambda x: relay.tile(x, (2, 1, 3)), real(2, 3)),
    "topk": lambda: (lambda x: relay.topk(x, 2, ret_type="values"), apart(3, 5)),
    "transpose": lambda: (lambda x: relay.transpose(x, (1, -1, 0)), real(*X)),
    "trilu": lambda: (lambda x: relay.trilu(x, 1, upper=False), real(3, 4)),
    "where": lambda: (relay.where, RNG.random((3, 1)) > 0.5, real(3, 4), real(4)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator(name):
    build, *arrays = CASES[name]()
    check(build, *arrays)


def test_every_gradient_of_a_tensor_operator_is_compared():
    compared = {name.split()[0] for name in CASES} | {*SMOOTH, *STEPS, *BINARY}
    compared |= {"sum", "mean", "max", "min", "prod", "variance", "fast_exp", "fast_tanh", "fast_erf"}
    compared |= {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
    integer = {name for name in REFERENCES if "bitwise" in name or "logical" in name or "shift" in name}
    no_gradient = {"isnan", "isfinite", "isinf", "argmax", "argmin", "argsort", "all", "any", "arange", "zeros", "ones"}
    no_gradient |= {"shape_of", "ndarray_size", "invert_permutation", "searchsorted", "unravel_index"}
    with_gradient = {n for n in REFERENCES if tessera.ir.Op.get(n).has_attr("FPrimalGradient")}
    assert with_gradient - integer - no_gradient == compared & with_gradient
    assert compared - with_gradient == set()


V0_10 = [
    "abs",
    "acos",
    "acosh",
    "add",
    "arange",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cast",
    "cast_like",
    "clip",
    "collapse_sum_like",
    "collapse_sum_to",
    "concatenate",
    "contrib_reverse_reshape",
    "copy",
    "cos",
    "cosh",
    "divide",
    "dyn.ones",
    "dyn.reshape",
    "dyn.zeros",
    "erf",
    "exp",
    "expand_dims",
    "gather_nd",
    "less_equal",
    "log",
    "log10",
    "log2",
    "max",
    "mean",
    "multiply",
    "negative",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "reshape",
    "reshape_like",
    "shape_of",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "squeeze",
    "stack",
    "strided_slice",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "transpose",
    "variance",
    "where",
    "zeros",
    "zeros_like",
]


@pytest.mark.parametrize("name", V0_10)
def test_what_had_a_gradient_in_v0_10_has_one(name):
    assert tessera.ir.Op.get(name).has_attr("FPrimalGradient")


def test_the_gradient_of_sparse_to_dense_has_the_fixed_shapes_of_its_arguments():
    values = relay.var("values", shape=(3,), dtype="float32")
    indices = relay.const(np.array([[0, 1], [2, 3], [2, 3]], "int32"))
    forward = relay.Function([values], relay.sparse_to_dense(indices, (3, 4), values, relay.const(0.5)))
    backward = relay.transform.gradient(
        relay.transform.InferType()(tessera.IRModule.from_expr(forward))["main"], mode="first_order"
    )
    mod = tessera.IRModule.from_expr(backward)
    _, (slope,) = relay.create_executor("graph", mod, tessera.cpu(), "llvm").evaluate()(np.ones(3, "float32"))
    np.testing.assert_array_equal(slope.numpy(), [1, 0, 1])
