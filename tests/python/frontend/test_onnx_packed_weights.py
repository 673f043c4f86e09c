"""Matmuls with weights of a few bits: they stay packed, and are right for any number of rows."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
import tessera  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tessera import relay  # noqa: E402

rng = np.random.default_rng(0)


def unpacked(packed, bits):
    parts = [packed >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1)


def layer(k, n, bits, block, zero="none"):
    """Tensors of a MatMulNBits, and its weight (k, n) in floats."""
    blocks = (k + block - 1) // block
    packed = rng.integers(0, 256, (n, blocks, block * bits // 8)).astype("uint8")
    scales = rng.uniform(0.01, 0.02, (n, blocks)).astype("float32")
    points, middle = None, 1 << (bits - 1)
    if zero == "packed":
        points = rng.integers(0, 256, (n, (blocks * bits + 7) // 8)).astype("uint8")
        middle = unpacked(points, bits)[:, :blocks, None].astype("float32")
    if zero == "float":
        points = rng.uniform(0, 15, (n, blocks)).astype("float32")
        middle = points[..., None]
    wide = (unpacked(packed, bits).astype("float32") - middle) * scales[..., None]
    return (packed, scales, points), wide.reshape(n, -1)[:, :k].T


def model_of(rows, tensors, k, n, groups=None, **attributes):
    given = [*tensors, groups]
    names = ["x"] + [f"w{i}" if tensor is not None else "" for i, tensor in enumerate(given)]
    node = helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=k, N=n, **attributes)
    held = [numpy_helper.from_array(tensor, f"w{i}") for i, tensor in enumerate(given) if tensor is not None]
    value = helper.make_tensor_value_info
    inputs = [value("x", TensorProto.FLOAT, [*rows, k])]
    graph = helper.make_graph([node], "graph", inputs, [value("y", TensorProto.FLOAT, [*rows, n])], held)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def compiled(model):
    return tessera.compile(model.SerializeToString())


def run(model, data):
    return np.asarray(compiled(model).run({"x": data})[0])


@pytest.mark.parametrize(
    ("bits", "block", "zero"),
    [(4, 32, "none"), (4, 16, "packed"), (4, 64, "float"), (4, 128, "packed"), (8, 32, "packed"), (2, 32, "none")],
)
@pytest.mark.parametrize("level", [0, 4])
def test_constant_weights_stay_packed(bits, block, zero, level):
    k, n = 208, 75  # neither whole blocks nor whole panels
    tensors, weight = layer(k, n, bits, block, zero)
    dynamic = compiled(model_of(["rows"], tensors, k, n, bits=bits, block_size=block, accuracy_level=level))
    for rows in (1, 3, 6, 20):
        data = rng.standard_normal((rows, k)).astype("float32")
        want = data @ weight
        # int8 data has an error of half a step of 1 / 127
        tolerance = {"rtol": 1e-4, "atol": 1e-4 * np.abs(want).max()}
        if level == 4:
            tolerance = {"rtol": 0, "atol": 0.02 * np.abs(want).max()}
        np.testing.assert_allclose(np.asarray(dynamic.run({"x": data})[0]), want, **tolerance)
        model = model_of([1, rows], tensors, k, n, bits=bits, block_size=block, accuracy_level=level)
        np.testing.assert_allclose(run(model, data[None])[0], want, **tolerance)


def test_memory_holds_the_bits_alone():
    k, n = 256, 512
    tensors, _ = layer(k, n, 4, 32)
    model = model_of([1], tensors, k, n, bits=4, block_size=32)
    module, params = relay.frontend.from_onnx(model)
    lib = relay.build(module, target="llvm", params=params)
    held = sum(array.numpy().nbytes for array in lib.get_params().values())
    assert held < 1.02 * (n * k / 2 + n * k / 32 * 4) + 64
    assert "matmul_nbits" in lib.get_graph_json()


def test_columns_of_groups_in_any_order():
    k, n, block = 64, 20, 16
    (packed, scales, _), _ = layer(k, n, 4, block)
    data = rng.standard_normal((3, k)).astype("float32")
    numbers = unpacked(packed, 4).reshape(n, k).astype("float32") - 8
    even = rng.permutation(np.repeat(np.arange(k // block), block)).astype("int32")
    for groups in (even, np.minimum(even, 2)):
        model = model_of([3], (packed, scales, None), k, n, groups, bits=4, block_size=block)
        np.testing.assert_allclose(run(model, data), data @ (numbers * scales[:, groups]).T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("has_zero", [False, True])
def test_blocks_of_dequantize_linear_stay_packed_before_a_matmul(kind, is_transposed, has_zero):
    k, n, block = 64, 24, 16
    low, high = {TensorProto.INT4: (-8, 8), TensorProto.UINT4: (0, 16), TensorProto.INT8: (-128, 128)}[kind]
    integers, zeros = rng.integers(low, high, (k, n)), rng.integers(low, high, (k // block, n))
    scales = rng.uniform(0.01, 0.02, (k // block, n)).astype("float32")
    turned = (lambda x: x.T) if is_transposed else (lambda x: x)
    given = [("w", kind, integers), ("s", TensorProto.FLOAT, scales), ("z", kind, zeros)]
    held = [helper.make_tensor(name, of, turned(x).shape, turned(x).flatten()) for name, of, x in given[: 2 + has_zero]]
    names = ["w", "s", "z"][: 2 + has_zero]
    nodes = [helper.make_node("DequantizeLinear", names, ["d"], axis=int(is_transposed), block_size=block)]
    if is_transposed:
        nodes.append(helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["x", "t" if is_transposed else "d"], ["y"]))
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", TensorProto.FLOAT, [2, 3, k])], [value("y", TensorProto.FLOAT, [2, 3, n])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    data = rng.standard_normal((2, 3, k)).astype("float32")
    weight = (integers - (zeros.repeat(block, 0) if has_zero else 0)) * scales.repeat(block, 0)
    np.testing.assert_allclose(run(model, data), data @ weight, rtol=1e-4, atol=1e-3)
    assert "nn.matmul_nbits" in relay.frontend.from_onnx(model)[0].astext(show_meta_data=False)


def test_groups_without_a_scale_are_an_error():
    tensors, _ = layer(64, 20, 4, 16)
    model = model_of([3], tensors, 64, 20, np.full(64, 4, "int32"), bits=4, block_size=16)
    with pytest.raises(Exception, match="a group of columns that has no scale"):
        relay.frontend.from_onnx(model)


def test_shapes_that_do_not_fit_are_errors():
    data, weight = relay.var("data", shape=(1, 64)), relay.var("weight", shape=(2, 8, 64), dtype="uint8")
    scale, zero = relay.var("scale", shape=(2, 2, 16)), relay.var("zero", shape=(1, 1, 1), dtype="uint8")
    good = relay.nn.matmul_nbits(data, weight, scale, zero, units=20, bits=4, block_size=32)
    kind = relay.transform.InferType()(tessera.IRModule.from_expr(good))["main"].ret_type
    assert [int(extent) for extent in kind.shape] == [1, 20]
    for attributes, text in [
        ({"units": 40, "bits": 4, "block_size": 32}, "weight must have the shape"),
        ({"units": 20, "bits": 3, "block_size": 32}, "weights have 2, 4 or 8 bits, not 3"),
        ({"units": 20, "bits": 4, "block_size": 24}, "a multiple of 16"),
        ({"units": 20, "bits": 4, "block_size": 16}, "scale must have the shape"),
    ]:
        bad = relay.nn.matmul_nbits(data, weight, scale, zero, **attributes)
        with pytest.raises(Exception, match=text):
            relay.transform.InferType()(tessera.IRModule.from_expr(bad))
