"""Fused operators of com.microsoft against ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tessera import onnx_backend  # noqa: E402

rng = np.random.default_rng(0)


def real(*shape):
    return rng.standard_normal(shape).astype("float32")


def whole(high, *shape):
    return rng.integers(0, high, shape).astype("int32")


def check(op, inputs, outputs=("y",), kinds=(TensorProto.FLOAT,), off_by=0, constant=(), **attributes):
    """`constant`: which inputs the model holds itself."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    held = [numpy_helper.from_array(inputs[i], f"x{i}") for i in constant if inputs[i] is not None]
    given = {name: value for i, (name, value) in enumerate(zip(names, inputs)) if name and i not in constant}
    node = helper.make_node(op, names, list(outputs), domain="com.microsoft", **attributes)
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
    ]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(filter(None, outputs), kinds)]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "graph", types, results, held)
    model = helper.make_model(graph, opset_imports=sets, ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, want in zip(onnx_backend.prepare(model).run(given), session.run(None, given)):
        if off_by:
            assert np.abs(got.astype(int) - want.astype(int)).max() <= off_by
        else:
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_activations_with_a_bias():
    check("BiasGelu", [real(2, 3, 8), real(8)])
    check("FastGelu", [real(2, 3, 8), real(8)])


def test_a_matmul_of_transposed_matrices_with_a_factor():
    check("FusedMatMul", [real(2, 4, 3), real(2, 5, 4)], transA=1, transB=1, alpha=0.5)


def test_normalisation_of_a_sum():
    inputs = [real(2, 3, 8), real(2, 3, 8), real(8), real(8), real(8)]
    check("SkipLayerNormalization", inputs, ("y", "", "", "sum"), (TensorProto.FLOAT,) * 2, epsilon=1e-5)


def test_embeddings():
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32")
    inputs = [whole(10, 2, 5), whole(2, 2, 5), real(10, 8), real(6, 8), real(2, 8), real(8), real(8), mask]
    check("EmbedLayerNormalization", inputs, ("y", "n"), (TensorProto.FLOAT, TensorProto.INT32), epsilon=1e-5)


@pytest.mark.parametrize("only_back", [0, 1])
@pytest.mark.parametrize("mask", [None, [[1, 1, 1, 0], [1, 1, 1, 1]], [3, 4]])
def test_attention_with_masks(only_back, mask):
    mask = None if mask is None else np.array(mask, "int32")
    check("Attention", [real(2, 4, 8), real(8, 24), real(24), mask], num_heads=2, unidirectional=only_back)


def test_attention_continues_from_a_past():
    inputs = [real(2, 3, 8), real(8, 24), real(24), None, real(2, 2, 2, 5, 4)]
    check("Attention", inputs, ("y", "present"), (TensorProto.FLOAT,) * 2, num_heads=2, unidirectional=1)


def test_attention_of_many_heads():
    check("MultiHeadAttention", [real(2, 4, 8), real(2, 6, 8), real(2, 6, 8), real(24)], num_heads=2)


def ours(op, inputs, **attributes):
    """For forms that ONNX Runtime has on other devices only."""
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in zip(names, inputs)]
    graph = helper.make_graph([node], "graph", types, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return onnx_backend.prepare(helper.make_model(graph, opset_imports=sets)).run(inputs)[0]


def test_packed_heads_are_those_of_separate_tensors():
    query, key, value = (real(2, 4, 8) for _ in range(3))
    want = ours("MultiHeadAttention", [query, key, value], num_heads=2)
    heads = [x.reshape(2, 4, 2, 4) for x in (query, key, value)]
    packed = np.stack(heads, 3)
    np.testing.assert_allclose(ours("MultiHeadAttention", [packed], num_heads=2), want, rtol=1e-5)
    packed = np.stack(heads[1:], 3)
    np.testing.assert_allclose(ours("MultiHeadAttention", [query, packed], num_heads=2), want, rtol=1e-5)


def test_attention_of_many_heads_with_masks_and_a_past():
    mask = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], "int32")
    check(
        "MultiHeadAttention", [real(2, 4, 8), real(2, 6, 8), real(2, 6, 8), None, mask, real(2, 2, 4, 6)], num_heads=2
    )
    inputs = [real(2, 1, 8), real(2, 1, 8), real(2, 1, 8), None, None, None, real(2, 2, 5, 4), real(2, 2, 5, 4)]
    check("MultiHeadAttention", inputs, ("y", "k", "v"), (TensorProto.FLOAT,) * 3, num_heads=2)


def rotation(length, half):
    angles = np.arange(length)[:, None] / 10.0 ** np.linspace(0, 2, half)
    return np.cos(angles).astype("float32"), np.sin(angles).astype("float32")


@pytest.mark.parametrize("attributes", [{}, {"local_window_size": 3}, {"softcap": 5.0}, {"do_rotary": 1}])
def test_queries_that_share_keys(attributes):
    cosine, sine = rotation(16, 8)
    tables = [cosine, sine] if "do_rotary" in attributes else []
    kinds, heads = (TensorProto.FLOAT,) * 3, {"num_heads": 4, "kv_num_heads": 2}
    first = [real(2, 5, 64), real(2, 5, 32), real(2, 5, 32), None, None]
    lengths = [np.array([4, 4], "int32"), np.array([5], "int32")]
    check("GroupQueryAttention", first + lengths + tables, ("y", "k", "v"), kinds, **heads, **attributes)
    later = [real(2, 1, 64), real(2, 1, 32), real(2, 1, 32), real(2, 2, 5, 16), real(2, 2, 5, 16)]
    lengths = [np.array([5, 5], "int32"), np.array([6], "int32")]
    check("GroupQueryAttention", later + lengths + tables, ("y", "k", "v"), kinds, **heads, **attributes)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved):
    cosine, sine = rotation(12, 4)
    positions = np.array([[3, 4, 5], [0, 1, 2]], "int64")
    check("RotaryEmbedding", [real(2, 3, 16), positions, cosine, sine], interleaved=interleaved)
    check("RotaryEmbedding", [real(2, 2, 3, 8), np.array([4], "int64"), cosine, sine], interleaved=interleaved)


def test_normalisation_without_a_mean():
    inputs = [real(2, 3, 8), real(2, 3, 8), real(8), real(8)]
    check("SkipSimplifiedLayerNormalization", inputs, ("y", "", "", "sum"), (TensorProto.FLOAT,) * 2, epsilon=1e-5)
    check("QuickGelu", [real(2, 3, 8)], alpha=1.3)
    inputs = [real(2, 3, 8), real(8), real(2, 3, 8)]
    np.testing.assert_allclose(ours("BiasAdd", inputs), sum(inputs), rtol=1e-5)


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip"])
def test_matmuls_with_an_activation(activation):
    numbers = {"LeakyRelu": [0.2], "Clip": [-0.5, 0.5]}.get(activation, [])
    attributes = {"activation": activation, **({"activation_params": numbers} if numbers else {})}
    check("FusedConv", [real(1, 3, 8, 8), real(4, 3, 3, 3), real(4)], pads=[1, 1, 1, 1], **attributes)
    if activation in ("Relu", "Sigmoid", "Tanh"):
        check("FusedGemm", [real(4, 3), real(5, 4), real(5)], transA=1, transB=1, alpha=0.5, activation=activation)


@pytest.mark.parametrize(("bits", "zero"), [(4, "none"), (4, "packed"), (4, "float"), (8, "none"), (8, "packed")])
def test_weights_of_few_bits(bits, zero):
    k, n, block = 40, 6, 16
    blocks = (k + block - 1) // block
    weights = rng.integers(0, 256, (n, blocks, block * bits // 8)).astype("uint8")
    points = None
    if zero == "packed":
        points = rng.integers(0, 256, n * ((blocks * bits + 7) // 8)).astype("uint8")
    if zero == "float":
        points = rng.uniform(0, 15, n * blocks).astype("float32")
    inputs = [real(3, k), weights, real(n * blocks), points]
    check("MatMulNBits", inputs, K=k, N=n, bits=bits, block_size=block)


def small(dtype, *shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


SCALE, ZERO = np.array(0.05, "float32"), np.array(3, "uint8")


def quantised(*shape, scale=0.05, zero=120):
    return [small("uint8", *shape), np.array(scale, "float32"), np.array(zero, "uint8")]


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_quantised_additions_and_multiplications(op):
    inputs = [*quantised(3, 4), *quantised(4, scale=0.02), np.array(0.2, "float32"), np.array(100, "uint8")]
    check(op, inputs, kinds=(TensorProto.UINT8,), off_by=1)


@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool", "QLinearSoftmax"])
def test_quantised_functions(op):
    inputs = [*quantised(2, 3, 5, 5), np.array(1 / 256, "float32"), np.array(0, "uint8")]
    attributes = {"QLinearSoftmax": {"opset": 13, "axis": -1}, "QLinearLeakyRelu": {"alpha": 0.1}}.get(op, {})
    check(op, inputs, kinds=(TensorProto.UINT8,), off_by=1, **attributes)


def test_quantised_parts_are_concatenated():
    inputs = [SCALE, ZERO, *quantised(2, 3), *quantised(2, 4, scale=0.1, zero=90)]
    check("QLinearConcat", inputs, kinds=(TensorProto.UINT8,), off_by=1, axis=1)


def test_quantised_matmuls_in_floats():
    check(
        "MatMulIntegerToFloat",
        [small("uint8", 3, 4), small("int8", 4, 5), SCALE, SCALE, ZERO, np.array(2, "int8"), real(5)],
    )
    check("DynamicQuantizeMatMul", [real(3, 8), small("int8", 8, 5), real(5), None, real(5)])
    bias = small("int32", 5) // 2**20
    inputs = [small("uint8", 3, 4), SCALE, ZERO, small("int8", 4, 5), SCALE, np.array(0, "int8"), bias]
    check("QGemm", inputs)
    out = [np.array(4.0, "float32"), np.array(100, "uint8")]
    check("QGemm", inputs + out, kinds=(TensorProto.UINT8,), off_by=1)


def test_quantised_attention():
    inputs = [small("uint8", 2, 3, 8), small("int8", 8, 24), real(24), SCALE, SCALE, None, ZERO, np.array(1, "int8")]
    check("QAttention", inputs, num_heads=2)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", ["all", "columns", "lengths", "peepholes"])
def test_a_recurrent_layer_of_bytes(kind, dtype, direction):
    directions, size, hidden, steps = 1 + (direction == "bidirectional"), 6, 8, 5
    scales = (directions, 4 * hidden) if kind == "columns" else (directions,)
    scale = lambda: rng.uniform(0.002, 0.01, scales).astype("float32")
    zero = np.full(scales, 0 if kind == "columns" else 5, dtype)
    if kind == "columns" and dtype == "uint8":
        zero += 128
    inputs = [
        real(steps, 1, size),
        small(dtype, directions, size, 4 * hidden),
        small(dtype, directions, hidden, 4 * hidden),
        real(directions, 8 * hidden),
        np.array([3], "int32") if kind == "lengths" else None,
        *([real(directions, 1, hidden), real(directions, 1, hidden)] if kind == "peepholes" else [None, None]),
        real(directions, 3 * hidden) if kind == "peepholes" else None,
        scale(),
        zero,
        scale(),
        zero,
    ]
    attributes = {"hidden_size": hidden, "direction": direction}
    check(
        "DynamicQuantizeLSTM",
        inputs,
        ("y", "h", "c"),
        (TensorProto.FLOAT,) * 3,
        constant=(1, 2, 3, 7, 8, 9, 10, 11),
        **attributes,
    )
