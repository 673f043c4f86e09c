"""Fourier transforms against NumPy."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tessera import onnx_backend  # noqa: E402

rng = np.random.default_rng(0)


def run(op, inputs, constants=(), opset=20, **attributes):
    """`constants`: numbers of inputs that the file holds."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    given = {name: value for i, (name, value) in enumerate(zip(names, inputs)) if name and i not in constants}
    held = [numpy_helper.from_array(inputs[i], names[i]) for i in constants]
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
    ]
    kind = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "graph",
        types,
        [helper.make_tensor_value_info("y", kind, None)],
        held,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return onnx_backend.prepare(model).run(given)[0]


def parts(x, dtype):
    return np.stack([x.real, x.imag], -1).astype(dtype)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 10, 49, 97, 120, 1024, 1155])
@pytest.mark.parametrize("inverse", [0, 1])
def test_complex_signals_of_many_lengths(length, inverse):
    x = rng.standard_normal((3, length)) + 1j * rng.standard_normal((3, length))
    want = (np.fft.ifft if inverse else np.fft.fft)(x, axis=1)
    got = run("DFT", [parts(x, "float64")], inverse=inverse)
    np.testing.assert_allclose(got, parts(want, "float64"), atol=1e-12 * max(1, np.abs(want).max()))


def test_single_precision_rounds_as_numpy_does():
    x = (rng.standard_normal((4, 30)) + 1j * rng.standard_normal((4, 30))).astype("complex64")
    np.testing.assert_allclose(run("DFT", [parts(x, "float32")]), parts(np.fft.fft(x), "float32"), atol=3e-6)


@pytest.mark.parametrize("length", [None, 6, 9, 16])
def test_signals_are_cut_or_filled_up_along_any_axis(length):
    x = rng.standard_normal((5, 9, 2, 1)).astype("float32")
    length_input = None if length is None else np.array(length)
    got = run("DFT", [x, length_input, np.array(1)], (1, 2) if length else (2,), onesided=1)
    want = np.fft.rfft(x[..., 0], length, axis=1)
    np.testing.assert_allclose(got, parts(want, "float32"), atol=1e-5)


@pytest.mark.parametrize("length", [None, 8, 9, 11])
def test_half_the_frequencies_give_a_real_signal(length):
    x = np.fft.rfft(rng.standard_normal((3, 10)))
    length_input = None if length is None else np.array(length)
    got = run("DFT", [parts(x, "float64"), length_input], (1,) if length else (), inverse=1, onesided=1)
    np.testing.assert_allclose(got[..., 0], np.fft.irfft(x, length), atol=1e-12)


@pytest.mark.parametrize("onesided", [0, 1])
def test_frames_of_a_signal(onesided):
    x, window = rng.standard_normal((2, 50, 1)).astype("float32"), np.hanning(16).astype("float32")
    got = run("STFT", [x, np.array(7), window], (1,), onesided=onesided)
    frames = np.stack([x[:, i : i + 16, 0] * window for i in range(0, 35, 7)], 1)
    want = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    np.testing.assert_allclose(got, parts(want, "float32"), atol=1e-5)


def test_determinants():
    x = rng.standard_normal((2, 3, 5, 5)).astype("float64")
    x[0, 0, 1] = x[0, 0, 2]
    np.testing.assert_allclose(run("Det", [x]), np.linalg.det(x), atol=1e-12)


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_slices_that_differ(axis, is_sorted):
    x = rng.integers(0, 2, (6, 3, 2)).astype("float32")
    attributes = {} if axis is None else {"axis": axis}
    kinds = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT64, TensorProto.INT64]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip("yabc", kinds)]
    graph = helper.make_graph(
        [helper.make_node("Unique", ["x"], list("yabc"), sorted=is_sorted, **attributes)],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        results,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    got = onnx_backend.prepare(model).run([x])
    ort = pytest.importorskip("onnxruntime")
    want = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one, other)
