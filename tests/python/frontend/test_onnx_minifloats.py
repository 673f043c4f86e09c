"""Floats of eight bits and fewer: bytes in memory, exact against ml_dtypes."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ml_dtypes = pytest.importorskip("ml_dtypes")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tessera import onnx_backend  # noqa: E402
from tessera.error import OpNotImplemented  # noqa: E402

FORMATS = {
    "FLOAT4E2M1": "float4_e2m1fn",
    "FLOAT6E2M3": "float6_e2m3fn",
    "FLOAT6E3M2": "float6_e3m2fn",
    "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
    "FLOAT8E8M0": "float8_e8m0fnu",
}
SIGNED = [name for name in FORMATS if name != "FLOAT8E8M0"]


def run(nodes, inputs, kind, opset=27):
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    graph = helper.make_graph(nodes, "graph", types, [helper.make_tensor_value_info("y", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return onnx_backend.prepare(model).run(inputs)[0]


def cast(x, name, **attributes):
    kind = getattr(TensorProto, name)
    return run([helper.make_node("Cast", ["x"], ["y"], to=kind, **attributes)], {"x": x}, kind)


def numbers(dtype):
    """All that a minifloat holds, what lies between, the ends of the range, and numbers of every size."""
    rng = np.random.default_rng(0)
    every = np.arange(256, dtype="uint8")
    with np.errstate(all="ignore"):
        exact = np.concatenate([every.view(getattr(ml_dtypes, FORMATS[name])).astype(dtype) for name in SIGNED])
        between = np.nextafter(exact, np.asarray(np.inf, dtype)), np.nextafter(exact, np.asarray(-np.inf, dtype))
        halves = (exact[1:] + exact[:-1]) / np.asarray(2, dtype)
        wide = (rng.standard_normal(4000) * np.exp2(rng.integers(-40, 40, 4000))).astype(dtype)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], dtype)
    return np.concatenate([exact, *between, halves, wide, ends])


def assert_same_bytes(got, want):
    assert got.dtype == want.dtype
    got, want = got.view("uint8"), want.view("uint8")
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", FORMATS)
def test_every_byte_is_read_exactly(name):
    dtype = getattr(ml_dtypes, FORMATS[name])
    count = 2 ** (8 if "8" in name else int(name[5]))
    x = np.arange(count, dtype="uint8").view(dtype)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(cast(x, "FLOAT"), x.astype("float32"))


@pytest.mark.parametrize("source", ["float32", "float16"])
@pytest.mark.parametrize("name", SIGNED)
def test_numbers_are_rounded_as_ml_dtypes_does(name, source):
    x = numbers(np.dtype(source))
    with np.errstate(all="ignore"):
        assert_same_bytes(cast(x, name, saturate=0), x.astype(getattr(ml_dtypes, FORMATS[name])))


@pytest.mark.parametrize("name", SIGNED)
def test_long_floats_are_rounded_once(name):
    """ml_dtypes goes by way of float32, and what lies just beside a half there is rounded twice."""
    dtype = getattr(ml_dtypes, FORMATS[name])
    codes = np.arange(128, dtype="uint8")
    held = codes.view(dtype).astype("float64")
    codes, held = codes[np.isfinite(held) & (held >= 0)], held[np.isfinite(held) & (held >= 0)]
    codes, held = codes[: held.argmax() + 1], held[: held.argmax() + 1]
    x = np.abs(numbers(np.dtype("float64")))
    x = x[x <= held[-1]]
    above = np.searchsorted(held, x).clip(1, len(held) - 1)
    down, up = x - held[above - 1], held[above] - x
    is_up = (up < down) | ((up == down) & (codes[above] % 2 == 0))
    np.testing.assert_array_equal(cast(x, name).view("uint8"), np.where(is_up, codes[above], codes[above - 1]))


@pytest.mark.parametrize("name", SIGNED)
def test_what_is_too_large_becomes_the_largest_number(name):
    x = numbers(np.dtype("float32"))
    with np.errstate(all="ignore"):
        assert_same_bytes(cast(x, name), numpy_helper.saturate_cast(x, getattr(ml_dtypes, FORMATS[name])))


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_powers_of_two_are_rounded_as_asked(mode, saturate):
    rng = np.random.default_rng(1)
    x = np.exp2(rng.uniform(-120, 120, 2000)).astype("float32")
    x = np.concatenate([x, np.exp2(np.arange(-126.0, 128)).astype("float32"), np.array([np.nan], "float32")])
    want = numpy_helper.to_float8e8m0(x, bool(saturate), mode)
    assert_same_bytes(cast(x, "FLOAT8E8M0", saturate=saturate, round_mode=mode), want)


def test_the_least_power_of_two_lies_below_normal_floats():
    x = np.array([2.0**-127, 1.5 * 2.0**-127, 2.0**-130, 0.0], "float32")
    assert cast(x, "FLOAT8E8M0").view("uint8").tolist() == [0, 1, 0, 0]
    assert cast(x, "FLOAT8E8M0", saturate=0, round_mode="nearest").view("uint8").tolist() == [0, 1, 255, 255]


def test_integers_are_rounded_once():
    x = np.array([2**24 + 1, 33, -27, 19], "int32")
    want = x.astype("float64").astype(ml_dtypes.float8_e5m2)
    assert_same_bytes(cast(x, "FLOAT8E5M2", saturate=0), want)


def test_elements_are_moved_as_they_are():
    x = np.arange(12, dtype="uint8").view(ml_dtypes.float8_e4m3fn).reshape(3, 4)
    kind = TensorProto.FLOAT8E4M3FN
    shape = numpy_helper.from_array(np.array([2, 6]), "shape")
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"]),
        helper.make_node("Constant", [], ["shape"], value=shape),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
        helper.make_node("Concat", ["b", "b"], ["y"], axis=0),
    ]
    want = x.T.reshape(2, 6)
    assert_same_bytes(run(nodes, {"x": x}, kind), np.concatenate([want, want]))


def test_scales_that_are_powers_of_two():
    x = np.arange(16, dtype="uint8").view(ml_dtypes.float4_e2m1fn).reshape(2, 8)
    scale = np.array([[126, 127], [128, 130]], "uint8").view(ml_dtypes.float8_e8m0fnu)
    node = helper.make_node(
        "DequantizeLinear", ["x", "scale"], ["y"], axis=1, block_size=4, output_dtype=TensorProto.FLOAT
    )
    got = run([node], {"x": x, "scale": scale}, TensorProto.FLOAT)
    np.testing.assert_array_equal(got, x.astype("float32") * np.repeat(scale.astype("float32"), 4, axis=1))


def test_bytes_are_never_taken_for_numbers():
    x = np.arange(4, dtype="uint8").view(ml_dtypes.float8_e5m2)
    with pytest.raises(OpNotImplemented, match="Abs of float8e5m2 is not supported; cast it first"):
        run([helper.make_node("Abs", ["x"], ["y"])], {"x": x}, TensorProto.FLOAT8E5M2)


def test_constants_of_the_file_may_be_packed():
    values = np.array([0.5, -6, 1.5], ml_dtypes.float4_e2m1fn)
    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(values, "c")),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    assert run(nodes, {}, TensorProto.FLOAT).tolist() == [0.5, -6, 1.5]


def test_bounds_of_bfloat16_are_numbers_where_a_shape_depends_on_them():
    bounds = {name: np.array(value, ml_dtypes.bfloat16) for name, value in zip("abc", (1, 5, 2))}
    found = run([helper.make_node("Range", ["a", "b", "c"], ["y"])], bounds, TensorProto.BFLOAT16)
    np.testing.assert_array_equal(np.asarray(found).astype("float32"), [1, 3])
