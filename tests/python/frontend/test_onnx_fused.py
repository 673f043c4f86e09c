"""Fused operators of com.microsoft against ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402
from tessera import onnx_backend  # noqa: E402

rng = np.random.default_rng(0)


def real(*shape):
    return rng.standard_normal(shape).astype("float32")


def whole(high, *shape):
    return rng.integers(0, high, shape).astype("int32")


def check(op, inputs, outputs=("y",), kinds=(TensorProto.FLOAT,), **attributes):
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    given = {name: value for name, value in zip(names, inputs) if name}
    node = helper.make_node(op, names, list(outputs), domain="com.microsoft", **attributes)
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
    ]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(filter(None, outputs), kinds)]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "graph", types, results), opset_imports=sets, ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, want in zip(onnx_backend.prepare(model).run(given), session.run(None, given)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_activations_with_a_bias():
    check("BiasGelu", [real(2, 3, 8), real(8)])
    check("FastGelu", [real(2, 3, 8), real(8)])


def test_a_product_of_transposed_matrices_with_a_factor():
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
