"""Models as onnxruntime.quantization makes them: integers of 8 bits, with zero points that may be known only at run time."""

import itertools

import numpy as np
import pytest
import tessera
from tessera import onnx_backend, relay
from tessera._ffi.registry import get_global_func
from tessera.contrib import graph_executor

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

BYTES = ["uint8", "int8"]
VNNI = "llvm -mcpu=cascadelake"


def integers(dtype, *shape, seed=0):
    """With the ends of the type among them, also side by side: 255 * -128 twice does not fit 16 bits."""
    info, rng = np.iinfo(dtype), np.random.default_rng(seed)
    out = rng.integers(info.min, info.max + 1, shape).astype(dtype)
    ends = rng.random(shape)
    out[ends < 0.2] = info.max
    out[ends > 0.8] = info.min
    return out


def real(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def model_of(nodes, inputs, constants, outputs=("y",), shapes=None):
    """`inputs`: by name, arrays like those it will be given; `shapes`: theirs, where extents have names."""
    types = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), (shapes or {}).get(name, value.shape)
        )
        for name, value in inputs.items()
    ]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs]
    graph = helper.make_graph(nodes, "graph", types, results, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def run(model, inputs):
    return onnx_backend.prepare(model).run(inputs)


def run_node(op, operands, constant=(), **attributes):
    """One node; operands by name in its order, of which those in `constant` are initializers."""
    names = [name if value is not None else "" for name, value in operands.items()]
    given = {name: value for name, value in operands.items() if value is not None}
    inputs = {name: value for name, value in given.items() if name not in constant}
    held = {name: value for name, value in given.items() if name in constant}
    model = model_of([helper.make_node(op, names, ["y"], **attributes)], inputs, held)
    return run(model, inputs)[0], model, inputs


def built(model, target="llvm"):
    mod, params = relay.frontend.from_onnx(model)
    with tessera.transform.PassContext(opt_level=3):
        return relay.build(mod, target, params=params)


# ---- MatMulInteger -----------------------------------------------------------------------------------------------------


def centred_matmul(a, b, a_zero=0, b_zero=0):
    return np.matmul(a.astype("int32") - np.int32(a_zero), b.astype("int32") - np.asarray(b_zero, "int32"))


@pytest.mark.parametrize(
    ("shape", "constant"),
    [((33, 64, 48), ("b", "q")), ((5, 37, 70), ("b", "q")), ((1, 256, 64), ("b",)), ((9, 30, 20), ())],
    ids=["weight", "no whole groups", "zero points at run time", "two inputs"],
)
@pytest.mark.parametrize(("a_type", "b_type"), itertools.product(BYTES, BYTES))
def test_a_matmul_of_bytes_is_exact(a_type, b_type, shape, constant):
    m, k, n = shape
    a, b = integers(a_type, m, k), integers(b_type, k, n, seed=1)
    p, q = np.array(integers(a_type, 1, seed=2)[0]), integers(b_type, n, seed=3)
    for p_of, q_of in [(None, None), (p, np.array(q[0])), (p, q)]:
        got, _, _ = run_node("MatMulInteger", {"a": a, "b": b, "p": p_of, "q": q_of}, constant)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(
            got, centred_matmul(a, b, *(0 if zero is None else zero for zero in (p_of, q_of)))
        )


RANKS = [((7, 32), (32, 40)), ((3, 7, 32), (32, 40)), ((2, 3, 7, 32), (32, 40)), ((32,), (32, 40)), ((7, 32), (32,))]
BATCHES = [((3, 7, 32), (3, 32, 40)), ((2, 3, 7, 32), (3, 32, 40)), ((7, 32), (3, 32, 40)), ((32,), (3, 32, 40))]


@pytest.mark.parametrize("constant", [("b", "q"), ()], ids=["weight", "two inputs"])
@pytest.mark.parametrize(("a_shape", "b_shape"), RANKS + BATCHES)
def test_matmuls_of_bytes_broadcast_as_those_of_floats(a_shape, b_shape, constant):
    a, b = integers("uint8", *a_shape), integers("uint8", *b_shape, seed=1)
    p, q = np.array(200, "uint8"), np.array(17, "uint8")
    got, _, _ = run_node("MatMulInteger", {"a": a, "b": b, "p": p, "q": q}, constant)
    np.testing.assert_array_equal(got, centred_matmul(a, b, p, q))


def test_a_row_may_have_a_zero_point_of_its_own():
    a, b, p = integers("int8", 9, 32), integers("int8", 32, 48, seed=1), integers("int8", 9, seed=2)
    for constant in [("b",), ()]:
        got, _, _ = run_node("MatMulInteger", {"a": a, "b": b, "p": p}, constant)
        np.testing.assert_array_equal(got, centred_matmul(a, b, p.astype("int32")[:, None]))


# ---- ConvInteger -------------------------------------------------------------------------------------------------------

CONVS = {
    "padded": ((1, 16, 9, 9), (32, 16, 3, 3), {"pads": [1, 1, 1, 1]}),
    "padded on one side": ((1, 16, 9, 9), (32, 16, 3, 3), {"pads": [2, 0, 1, 3]}),
    "three channels": ((1, 3, 12, 12), (16, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "few filters": ((2, 8, 7, 7), (5, 8, 3, 3), {}),
    "points": ((2, 24, 5, 5), (24, 24, 1, 1), {}),
    "points apart": ((1, 16, 6, 6), (16, 16, 1, 1), {"strides": [2, 2]}),
    "depthwise": ((1, 16, 9, 9), (16, 1, 3, 3), {"group": 16, "pads": [1, 1, 1, 1]}),
    "groups": ((1, 16, 9, 9), (32, 4, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    "dilated": ((1, 16, 11, 11), (16, 16, 3, 3), {"dilations": [2, 2]}),
    "same": ((1, 8, 10, 10), (16, 8, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "a signal": ((1, 8, 40), (16, 8, 5), {"pads": [2, 2]}),
    "a volume": ((1, 4, 5, 5, 5), (8, 4, 2, 2, 2), {}),
}


def centred_conv(x, w, x_zero, w_zero, attributes):
    """The sums in float64, in which they are exact."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    wide = {"x": x.astype("float64") - float(x_zero), "w": w.astype("float64") - w_zero}
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, value.shape) for name, value in wide.items()],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
    )
    return ReferenceEvaluator(helper.make_model(graph)).run(None, wide)[0].astype("int32")


CONV_CASES = [(kind, *types, ("w", "q")) for kind in CONVS for types in [("uint8", "int8"), ("int8", "uint8")]]
CONV_CASES += [("padded", "uint8", "uint8", ("w", "q")), ("depthwise", "int8", "int8", ("w", "q"))]
CONV_CASES += [(kind, "uint8", "int8", ()) for kind in ("padded", "groups", "a signal")]  # the filters are an input


@pytest.mark.parametrize(("kind", "x_type", "w_type", "constant"), CONV_CASES)
def test_a_convolution_of_bytes_is_exact(kind, x_type, w_type, constant):
    x_shape, w_shape, attributes = CONVS[kind]
    x, w = integers(x_type, *x_shape), integers(w_type, *w_shape, seed=1)
    p, q = integers(x_type, 1, seed=2)[0], integers(w_type, w_shape[0], seed=3)
    each = q.astype("float64").reshape(-1, *[1] * (w.ndim - 1))
    cases = [(p, None), (p, np.array(q[0]))] + [(p, q)] * (w_type == "int8") + [(None, None)] * (x_type == "uint8")
    for p_of, q_of in cases:
        operands = {"x": x, "w": w, "p": None if p_of is None else np.array(p_of), "q": q_of}
        got, _, _ = run_node("ConvInteger", operands, constant, **attributes)
        w_zero = 0 if q_of is None else float(q_of) if q_of.ndim == 0 else each
        np.testing.assert_array_equal(got, centred_conv(x, w, 0 if p_of is None else p_of, w_zero, attributes))


# ---- QLinear -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x_type", "w_type"), itertools.product(BYTES, BYTES))
def test_a_quantised_convolution_agrees_with_the_standard(x_type, w_type):
    x, w = integers(x_type, 1, 16, 9, 9), integers(w_type, 32, 16, 3, 3, seed=1)
    scale = lambda value: np.array(value, "float32")
    scales = np.random.default_rng(4).uniform(0.01, 0.03, 32).astype("float32")
    operands = {"x": x, "x_scale": scale(0.02), "x_zero": np.array(3, x_type), "w": w, "w_scale": scales}
    operands |= {"w_zero": np.zeros(32, w_type), "y_scale": scale(2.0), "y_zero": np.array(5, x_type)}
    operands["b"] = np.arange(32, dtype="int32") * 100
    got, model, inputs = run_node("QLinearConv", operands, set(operands) - {"x"}, pads=[1, 1, 1, 1])
    np.testing.assert_array_equal(got, ReferenceEvaluator(model).run(None, inputs)[0])


@pytest.mark.parametrize(("a_type", "b_type"), itertools.product(BYTES, BYTES))
def test_a_quantised_matmul_agrees_with_the_standard(a_type, b_type):
    a, b = integers(a_type, 20, 64), integers(b_type, 64, 48, seed=1)
    operands = {"a": a, "a_scale": np.array(0.02, "float32"), "a_zero": np.array(7, a_type), "b": b}
    operands |= {"b_scale": np.array(0.01, "float32"), "b_zero": np.array(9, b_type)}
    operands |= {"y_scale": np.array(1.5, "float32"), "y_zero": np.array(11, a_type)}
    got, model, inputs = run_node("QLinearMatMul", operands, set(operands) - {"a"})
    np.testing.assert_array_equal(got, ReferenceEvaluator(model).run(None, inputs)[0])


# ---- DynamicQuantizeLinear ---------------------------------------------------------------------------------------------


def quantised(x):
    """(integers, scale, zero point) of ours and of the standard's own evaluator."""
    outputs = ("y", "s", "z")
    model = model_of([helper.make_node("DynamicQuantizeLinear", ["x"], list(outputs))], {"x": x}, {}, outputs)
    return run(model, {"x": x}), ReferenceEvaluator(model).run(None, {"x": x})


RANGES = {
    "normal": real(6, 50),
    "large": real(128, 768),
    "no whole vectors": real(131, 77),
    "one number": np.array([2.5], "float32"),
    "without dimensions": np.array(-3.0, "float32"),
    "zeros": np.zeros((3, 40), "float32"),
    "positive": real(4, 40) ** 2 + 1,
    "negative": -(real(4, 40) ** 2) - 1,
    "halfway": np.arange(256, dtype="float32") + 0.5,
    "halfway and negative": np.append(np.arange(-100, 155, dtype="float32") + 0.5, [-100, 155]).astype("float32"),
    "tiny": real(5, 40) * np.float32(1e-38),
    "huge": real(5, 40) * np.float32(1e37),
}


@pytest.mark.parametrize("kind", RANGES)
def test_integers_span_the_range_as_the_standard_says(kind):
    for got, want in zip(*quantised(RANGES[kind]), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(3,), (40, 300)])
def test_ranges_that_are_no_numbers_do_no_harm(bad, shape):
    x = real(*shape)
    x.flat[1] = bad
    model = model_of([helper.make_node("DynamicQuantizeLinear", ["x"], ["y"])], {"x": x}, {})
    got = run(model, {"x": x})
    assert got[0].shape == shape
    assert got[0].dtype == np.uint8


def test_no_elements_have_an_empty_range():
    x = np.zeros((0, 4), "float32")
    model = model_of([helper.make_node("DynamicQuantizeLinear", ["x"], ["y"])], {"x": x}, {})
    assert run(model, {"x": x})[0].shape == (0, 4)


# ---- DynamicQuantizeLSTM -----------------------------------------------------------------------------------------------


def product_of_bytes(x, weight, scale, zero):
    """x in bytes of its own range, times centred weights."""
    integers, x_scale, x_zero = quantised(x)[1]
    return centred_matmul(integers, weight, x_zero, zero).astype("float32") * (x_scale * scale)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("batch", [1, 3])
def test_a_recurrent_layer_of_bytes_quantises_its_data_and_its_state(dtype, batch):
    steps, size, hidden = 4, 6, 8
    constants = {
        "w": integers(dtype, 1, size, 4 * hidden),
        "r": integers(dtype, 1, hidden, 4 * hidden, seed=1),
        "b": real(1, 8 * hidden),
        "ws": np.array([0.004], "float32"),
        "wz": np.array([7], dtype),
        "rs": np.array([0.006], "float32"),
        "rz": np.array([9], dtype),
    }
    x = real(steps, batch, size, seed=2)
    names = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
    outputs = ("y", "h", "c")
    node = helper.make_node("DynamicQuantizeLSTM", names, outputs, domain="com.microsoft", hidden_size=hidden)
    model = model_of([node], {"x": x}, constants, outputs)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))

    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    projected = product_of_bytes(x, constants["w"][0], constants["ws"][0], constants["wz"][0])
    projected += constants["b"][0, : 4 * hidden] + constants["b"][0, 4 * hidden :]
    state = memory = np.zeros((batch, hidden), "float32")
    rows = []
    for step in projected:
        all_gates = step + product_of_bytes(state, constants["r"][0], constants["rs"][0], constants["rz"][0])
        i, o, f, c = np.split(all_gates, 4, -1)
        memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(c)
        state = (sigmoid(o) * np.tanh(memory)).astype("float32")
        rows.append(state)
    got = run(model, {"x": x})
    np.testing.assert_allclose(got[0][:, 0], np.stack(rows), atol=1e-4)
    np.testing.assert_allclose(got[1][0], state, atol=1e-4)
    np.testing.assert_allclose(got[2][0], memory, atol=1e-4)


def quantized_lstm(constants, x, lengths, direction):
    """The same with a scale and a zero point for each column, in one or both directions, up to the length of each sequence."""
    ways, hidden = constants["r"].shape[:2]
    steps, batch = x.shape[:2]
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    seen = np.where(np.arange(steps)[:, None, None] < lengths.max(), x, 0)
    y = np.zeros((steps, ways, batch, hidden), "float32")
    last = np.zeros((2, ways, batch, hidden), "float32")
    for d in range(ways):
        projected = product_of_bytes(seen, constants["w"][d], constants["ws"][d], constants["wz"][d])
        projected += constants["b"][d, : 4 * hidden] + constants["b"][d, 4 * hidden :]
        state = memory = np.zeros((batch, hidden), "float32")
        for t in range(steps):
            at = lengths - 1 - t if direction == "reverse" or d == 1 else np.full(batch, t)
            goes_on = t < lengths
            gates = projected[np.maximum(at, 0), np.arange(batch)]
            gates = gates + product_of_bytes(state, constants["r"][d], constants["rs"][d], constants["rz"][d])
            i, o, f, c = np.split(gates, 4, -1)
            fresh = sigmoid(f) * memory + sigmoid(i) * np.tanh(c)
            memory = np.where(goes_on[:, None], fresh, memory).astype("float32")
            state = np.where(goes_on[:, None], sigmoid(o) * np.tanh(fresh), state).astype("float32")
            for k in np.flatnonzero(goes_on):
                y[at[k], d, k] = state[k]
        last[:, d] = state, memory
    return y, *last


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
@pytest.mark.parametrize("hidden", [3, 18, 32])
def test_a_recurrent_layer_of_bytes_goes_both_ways(dtype, direction, hidden):
    steps, batch, size, ways = 5, 4, 6, 2 if direction == "bidirectional" else 1
    columns = (ways, 4 * hidden)
    rng = np.random.default_rng(3)
    constants = {
        "w": integers(dtype, ways, size, 4 * hidden),
        "r": integers(dtype, ways, hidden, 4 * hidden, seed=1),
        "b": real(ways, 8 * hidden),
        "ws": rng.uniform(0.001, 0.004, columns).astype("float32"),
        "wz": rng.integers(0, 20, columns).astype(dtype),
        "rs": rng.uniform(0.001, 0.004, columns).astype("float32"),
        "rz": np.zeros(columns, dtype) if hidden == 18 else rng.integers(0, 20, columns).astype(dtype),
    }
    inputs = {"x": real(steps, batch, size, seed=2), "n": np.array([5, 2, 4, 3], "int32")}
    names = ["x", "w", "r", "b", "n", "", "", "", "ws", "wz", "rs", "rz"]
    outputs = ("y", "h", "c")
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, outputs, domain="com.microsoft", hidden_size=hidden, direction=direction
    )
    shapes = {"x": ("steps", "batch", size), "n": ("batch",)} if hidden == 32 else None
    model = model_of([node], inputs, constants, outputs, shapes)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    want = quantized_lstm(constants, *inputs.values(), direction)
    for got, expected in zip(run(model, inputs), want, strict=True):
        np.testing.assert_allclose(got, expected, atol=2e-4)


# ---- models as quantize_dynamic makes them -------------------------------------------------------------------------------


def dynamic_layers(widths, weight_type="int8", seed=0):
    """Linear layers with a bias and relu between them, as quantize_dynamic writes them, and their initializers."""
    nodes, constants, x = [], {}, "x"
    for i, (k, n) in enumerate(itertools.pairwise(widths)):
        constants |= {f"w{i}": integers(weight_type, k, n, seed=seed + i), f"t{i}": np.array(0.01, "float32")}
        constants |= {f"q{i}": np.array(0 if weight_type == "int8" else 131, weight_type), f"b{i}": real(n, seed=i)}
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [x], [f"a{i}", f"s{i}", f"p{i}"]),
            helper.make_node("MatMulInteger", [f"a{i}", f"w{i}", f"p{i}", f"q{i}"], [f"sum{i}"]),
            helper.make_node("Cast", [f"sum{i}"], [f"wide{i}"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"s{i}", f"t{i}"], [f"scale{i}"]),
            helper.make_node("Mul", [f"wide{i}", f"scale{i}"], [f"real{i}"]),
            helper.make_node("Add", [f"b{i}", f"real{i}"], [f"y{i}"]),
            helper.make_node("Relu", [f"y{i}"], [f"r{i}"]),
        ]
        x = f"r{i}"
    nodes[-1].output[0] = "y"
    return nodes, constants


@pytest.mark.parametrize("weight_type", BYTES)
@pytest.mark.parametrize("shape", [(24, 64), (2, 12, 64)])
def test_dynamic_layers_agree_with_the_standard(shape, weight_type):
    nodes, constants = dynamic_layers((64, 96, 80), weight_type)
    inputs = {"x": real(*shape)}
    model = model_of(nodes, inputs, constants)
    (got,), (want,) = run(model, inputs), ReferenceEvaluator(model).run(None, inputs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize("weight_type", BYTES)
def test_weights_stay_in_eight_bits(weight_type):
    nodes, constants = dynamic_layers((256, 512, 256), weight_type)
    lib = built(model_of(nodes, {"x": real(64, 256)}, constants))
    weights = 2 * 256 * 512
    assert sum(value.numpy().nbytes for value in lib.get_params().values()) < weights * 1.1


def test_weights_of_convolutions_stay_in_eight_bits():
    x, w = integers("uint8", 1, 32, 14, 14), integers("uint8", 64, 32, 3, 3)
    nodes = [helper.make_node("ConvInteger", ["x", "w", "p", "q"], ["y"], pads=[1, 1, 1, 1])]
    inputs = {"x": x, "p": np.array(3, "uint8")}
    lib = built(model_of(nodes, inputs, {"w": w, "q": np.array(130, "uint8")}))
    assert sum(value.numpy().nbytes for value in lib.get_params().values()) < w.size * 1.1


@pytest.mark.parametrize("a_type", BYTES)
@pytest.mark.parametrize("weight_type", BYTES)
def test_matmuls_take_the_instructions_for_bytes(a_type, weight_type):
    operands = {"a": integers(a_type, 64, 128), "b": integers(weight_type, 128, 64), "p": np.array(3, a_type)}
    node = helper.make_node("MatMulInteger", list(operands), ["y"])
    model = model_of([node], {name: operands[name] for name in "ap"}, {"b": operands["b"]})
    assert "vpdpbusd" in built(model, VNNI).get_lib().get_source("asm")


@pytest.mark.parametrize("x_type", BYTES)
@pytest.mark.parametrize(
    "kind", ["padded", "padded on one side", "three channels", "few filters", "points", "a signal"]
)
def test_convolutions_take_the_instructions_for_bytes(kind, x_type):
    x_shape, w_shape, attributes = CONVS[kind]
    operands = {"x": integers(x_type, *x_shape), "w": integers("int8", *w_shape), "p": np.array(3, x_type)}
    node = helper.make_node("ConvInteger", list(operands), ["y"], **attributes)
    model = model_of([node], {name: operands[name] for name in "xp"}, {"w": operands["w"]})
    assert "vpdpbusd" in built(model, VNNI).get_lib().get_source("asm")


def test_results_are_the_same_bits_on_any_number_of_threads():
    nodes, constants = dynamic_layers((256, 512, 256))
    x = real(64, 256)
    lib = built(model_of(nodes, {"x": x}, constants))
    set_threads, seen = get_global_func("runtime.config_threadpool"), []
    for threads in (1, 2, 3):
        set_threads(1, threads)
        module = graph_executor.GraphModule(lib["default"](tessera.cpu()))
        module.set_input(x=x)
        module.run()
        seen.append(module.get_output(0).numpy())
    set_threads(1, 0)
    assert all(np.array_equal(seen[0], other) for other in seen)


def test_batch_and_length_may_be_known_at_run_time_only():
    nodes, constants = dynamic_layers((64, 96, 80), "uint8")
    shapes = {"x": ("batch", "length", 64)}
    model = model_of(nodes, {"x": real(2, 12, 64)}, constants, shapes=shapes)
    prepared, reference = onnx_backend.prepare(model), ReferenceEvaluator(model)
    for batch, length in [(2, 12), (1, 1), (3, 50)]:
        x = real(batch, length, 64, seed=length)
        (got,), (want,) = prepared.run({"x": x}), reference.run(None, {"x": x})
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4 * np.abs(want).max())


def test_images_may_be_of_any_size_and_number():
    w = integers("int8", 16, 3, 3, 3)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "p"]),
        helper.make_node("ConvInteger", ["a", "w", "p"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2]),
    ]
    model = model_of(nodes, {"x": real(1, 3, 8, 8)}, {"w": w}, shapes={"x": ("n", 3, "h", "w")})
    prepared, reference = onnx_backend.prepare(model), ReferenceEvaluator(model)
    for shape in [(1, 3, 8, 8), (2, 3, 13, 21)]:
        x = real(*shape)
        np.testing.assert_array_equal(prepared.run({"x": x})[0], reference.run(None, {"x": x})[0])
