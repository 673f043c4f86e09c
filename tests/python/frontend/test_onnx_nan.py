"""What becomes of NaN: onnx.reference decides, operator by operator; ArgMax, TopK and the like as NumPy orders it."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
import tessera  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tessera import onnx_backend, relay  # noqa: E402

N = 37  # vectors and a tail
RNG = np.random.default_rng(3)


def with_nan(*shape, dtype="float32", every=5, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    flat = x.reshape(-1)
    flat[1::7], flat[2::11], flat[3::13] = np.inf, -np.inf, 0
    flat[::every] = np.nan
    return x


def model_of(op, inputs, outputs=1, **attributes):
    node = helper.make_node(op, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(outputs)], **attributes)
    types = [
        helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for i, x in enumerate(inputs)
    ]
    results = [helper.make_tensor_value_info(f"y{i}", TensorProto.UNDEFINED, None) for i in range(outputs)]
    return helper.make_model(
        helper.make_graph([node], "graph", types, results), opset_imports=[helper.make_opsetid("", 20)]
    )


def reference(model, inputs):
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def check(op, *inputs, outputs=1, rtol=2e-5, **attributes):
    model = model_of(op, inputs, outputs, **attributes)
    got = onnx_backend.prepare(model).run(list(inputs))
    for ours, theirs in zip(got, reference(model, inputs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-6, err_msg=op)


DTYPES = ["float16", "float32", "float64"]
#: Where NaN goes in, NaN comes out.
KEEPING = {
    "Relu": {}, "Elu": {"alpha": 0.5}, "HardSigmoid": {}, "Sign": {}, "HardSwish": {}, "Celu": {}, "Selu": {},
    "LeakyRelu": {}, "Softplus": {}, "Softsign": {}, "Mish": {}, "Gelu": {}, "Sigmoid": {}, "Tanh": {}, "Exp": {},
    "Abs": {}, "Neg": {}, "Ceil": {}, "Floor": {}, "Round": {}, "Erf": {}, "Reciprocal": {}, "Sin": {}, "Cos": {},
    "Atan": {}, "Sinh": {}, "Cosh": {}, "Asinh": {},
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", KEEPING)
def test_a_function_of_nan_is_nan(op, dtype):
    x = with_nan(N, dtype=dtype)
    (got,) = onnx_backend.prepare(model := model_of(op, [x], **KEEPING[op])).run([x])
    np.testing.assert_array_equal(np.isnan(got) >= np.isnan(x), True)
    rtol = {"float16": 4e-3}.get(dtype, 1e-5)
    np.testing.assert_allclose(got, reference(model, [x])[0], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("op", ["ThresholdedRelu", "Shrink", "IsNaN", "IsInf"])
def test_a_choice_by_comparison_is_what_the_reference_chooses(op):
    check(op, with_nan(N))


def test_sign_of_both_zeros_is_zero():
    (got,) = onnx_backend.run_node(helper.make_node("Sign", ["x"], ["y"]), [np.array([0.0, -0.0], "float32")])
    assert not np.signbit(got).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["Max", "Min", "Add", "Mul", "Less", "GreaterOrEqual", "Equal"])
def test_of_two_elements_either_may_be_nan(op, dtype):
    x, y = with_nan(N, dtype=dtype, every=2), with_nan(N, dtype=dtype, every=3, seed=1)
    check(op, x, y)
    check(op, x.reshape(1, N), y[:7].reshape(7, 1))  # broadcast


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_of_three_elements_any_may_be_nan(op):
    check(op, *(with_nan(N, every=every) for every in (2, 3, 5)))


def test_a_pole_of_pow_and_mod_of_nan():
    x, y = with_nan(N, every=2), with_nan(N, every=3, seed=1)
    check("Pow", np.abs(x), y)
    check("Mod", x, y, fmod=1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip_keeps_nan_whatever_the_limits_are(dtype):
    x, low, high = with_nan(N, dtype=dtype), np.array(-0.5, dtype), np.array(0.5, dtype)
    check("Clip", x, low, high)
    check("Clip", x, low)


ROWS = [(5, 3), (4, 17), (3, 64), (2, 3, 100), (300,)]


@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL2", "ReduceLogSumExp"])
def test_a_reduction_that_meets_nan_is_nan(op, shape):
    x = RNG.standard_normal(shape).astype("float32")
    x.reshape(-1)[-1] = np.nan
    x.reshape(-1, shape[-1])[0, shape[-1] // 2] = np.nan
    for axis in range(len(shape)):
        check(op, x, np.array([axis]), keepdims=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_extremes_of_every_type_meet_nan(op, dtype):
    x = with_nan(4, 50, dtype=dtype, every=60)
    check(op, x, np.array([1]), keepdims=1)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("op, position", [("ArgMax", np.argmax), ("ArgMin", np.argmin)])
def test_the_position_of_an_extreme_is_that_of_the_first_nan(op, position, shape, last):
    x = RNG.standard_normal(shape).astype("float32")
    lines = x.reshape(-1, shape[-1])
    lines[0, 1:] = np.nan
    lines[-1, [0, -1]] = np.nan
    for axis in range(len(shape)):
        (got,) = onnx_backend.prepare(model_of(op, [x], axis=axis, keepdims=0, select_last_index=last)).run([x])
        turned = np.flip(x, axis) if last else x
        wanted = position(turned, axis=axis)
        np.testing.assert_array_equal(got, shape[axis] - 1 - wanted if last else wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [0, 1])
def test_topk_orders_nan_as_numpy_sorts_it(largest, dtype):
    x = with_nan(3, 29, dtype=dtype)
    model = model_of("TopK", [x, np.array([9])], outputs=2, axis=1, largest=largest)
    values, indices = onnx_backend.prepare(model).run([x, np.array([9])])
    ordered = np.sort(x, axis=1)
    np.testing.assert_array_equal(values, ordered[:, ::-1][:, :9] if largest else ordered[:, :9])
    np.testing.assert_array_equal(np.take_along_axis(x, indices, 1), values)


POOLS = {
    "windows": ((2, 3, 20, 20), {"kernel_shape": (2, 2), "strides": (2, 2)}),
    "padding": ((1, 5, 19, 21), {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "overlap": ((1, 16, 12, 12), {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}),
    "one axis": ((2, 4, 50), {"kernel_shape": (3,), "strides": (1,)}),
    "large": ((1, 2, 33, 33), {"kernel_shape": (9, 9), "strides": (4, 4)}),
}


@pytest.mark.parametrize("name", POOLS)
def test_a_window_that_meets_nan_is_nan(name):
    shape, attributes = POOLS[name]
    x = RNG.standard_normal(shape).astype("float32")
    x.reshape(-1)[::97] = np.nan
    rank = len(shape) - 2
    padding = [(0, 0), (0, 0), *((p, p) for p in attributes.get("pads", [0] * 2 * rank)[:rank])]
    padded = np.pad(x, padding, constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, attributes["kernel_shape"], tuple(range(2, rank + 2)))
    steps = (slice(None), slice(None), *(slice(None, None, s) for s in attributes.get("strides", (1,) * rank)))
    wanted = windows[steps].max(axis=tuple(range(-rank, 0)))
    (got,) = onnx_backend.prepare(model_of("MaxPool", [x], **attributes)).run([x])
    np.testing.assert_array_equal(got, wanted)


def test_a_global_maximum_that_meets_nan_is_nan():
    x = RNG.standard_normal((2, 5, 7, 9)).astype("float32")
    x[0, 3, 6, 8] = x[1, 0, 0, 0] = np.nan
    (got,) = onnx_backend.prepare(model_of("GlobalMaxPool", [x])).run([x])
    np.testing.assert_array_equal(got, x.max((2, 3), keepdims=True))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_a_row_of_softmax_that_meets_nan_is_nan(op):
    check(op, with_nan(4, 40, every=50), axis=-1)


def network():
    """A convolution and a matmul with a constant, with their epilogues fused."""
    x = relay.var("x", shape=(1, 8, 12, 12))
    y = relay.nn.conv2d(x, relay.const(RNG.standard_normal((16, 8, 3, 3)).astype("float32")), padding=(1, 1))
    y = relay.nn.max_pool2d(relay.clip(relay.nn.relu(y), 0, 6), (3, 3), (2, 2), padding=(1, 1))
    y = relay.nn.dense(relay.nn.batch_flatten(y), relay.const(RNG.standard_normal((10, 576)).astype("float32")))
    return tessera.IRModule.from_expr(relay.nn.relu(y))


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("executor", ["graph", "vm", "debug"])
def test_a_network_of_an_image_without_numbers_gives_none(executor, opt_level):
    with tessera.transform.PassContext(opt_level=opt_level):
        run = relay.create_executor(executor, network(), tessera.cpu(), "llvm").evaluate()
    assert np.isnan(run(np.full((1, 8, 12, 12), np.nan, "float32")).numpy()).all()
