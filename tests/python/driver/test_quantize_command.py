"""The command `tessera quantize`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
RNG = np.random.default_rng(3)


def run(*words):
    env = {**os.environ, "TESSERA_PYTHON": sys.executable}
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, env=env)


def quantize(model, samples, output, *words):
    told = run("quantize", model, "--data", samples, "--output", output, "--json", "--with-first", *words)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def refused(*words):
    told = run("quantize", *words)
    assert told.returncode == 4 and told.stdout == ""
    return told.stderr


def save(path, opset=17, inputs_too=False):
    """Two convolutions that share nothing, two linear layers that share a weight, and a branch that reads one of them as floats."""
    shapes = {"k1": (8, 3, 3, 3), "b1": (8,), "k2": (8, 1, 3, 3), "w": (8, 8), "c": (8,)}
    made = {name: RNG.standard_normal(shape).astype("float32") / 3 for name, shape in shapes.items()}
    nodes = [
        helper.make_node("Conv", ["x", "k1", "b1"], ["h1"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["h1"], ["h2"], name="relu"),
        helper.make_node("Conv", ["h2", "k2"], ["h3"], name="by_channel", group=8, strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["h3"], ["h4"], name="pool"),
        helper.make_node("Flatten", ["h4"], ["h5"], name="flat"),
        helper.make_node("Gemm", ["h5", "w", "c"], ["h6"], name="gemm", transB=1),
        helper.make_node("MatMul", ["h6", "w"], ["h7"], name="matmul"),
        helper.make_node("Add", ["h7", "c"], ["y"], name="shift"),
    ]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 12, 12])]
    if inputs_too:
        values += [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    tensors = [numpy_helper.from_array(array, name) for name, array in made.items()]
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])]
    graph = helper.make_graph(nodes, "net", values, out, tensors)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path


@pytest.fixture
def model(tmp_path):
    return save(tmp_path / "net.onnx")


@pytest.fixture
def samples(tmp_path):
    np.savez(tmp_path / "samples.npz", x=RNG.standard_normal((16, 1, 3, 12, 12)).astype("float32"))
    return tmp_path / "samples.npz"


def answers(model, samples):
    program = tessera.Model(str(model))
    with np.load(samples) as data:
        return np.stack([program(sample)[0].numpy() for sample in data["x"]])


def test_layers_are_on_integers_and_answers_near(model, samples, tmp_path):
    told = quantize(model, samples, tmp_path / "int8.onnx")
    assert told["layers"] == told["all_layers"] == 4 and told["samples"] == 16
    assert told["outputs"][0]["decibels"] > 25 and told["outputs"][0]["rows"] == 16
    made = onnx.load(tmp_path / "int8.onnx")
    onnx.checker.check_model(made, full_check=True)
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in made.graph.initializer}
    assert {tensors[f"{name}_quantized"].dtype.name for name in ("k1", "k2", "w")} == {"int8"}
    assert tensors["k1_scale"].shape == (8,) and tensors["b1_quantized"].dtype == np.int32
    assert "k1" not in tensors and "w" not in tensors and "c" in tensors  # which is also added as floats
    assert [node.op_type for node in made.graph.node].count("QuantizeLinear") == 4
    wanted, found = answers(model, samples), answers(tmp_path / "int8.onnx", samples)
    noise = ((wanted - found) ** 2).sum()
    np.testing.assert_allclose(10 * np.log10((wanted**2).sum() / noise), told["outputs"][0]["decibels"], 1e-3)


def test_a_package_is_written_and_runs(model, samples, tmp_path):
    quantize(model, samples, tmp_path / "int8.onnx")
    quantize(model, samples, tmp_path / "int8.tar")
    wanted = answers(tmp_path / "int8.onnx", samples)
    np.testing.assert_array_equal(answers(tmp_path / "int8.tar", samples), wanted)


def test_skipped_nodes_stay_as_they_are(model, samples, tmp_path):
    told = quantize(model, samples, tmp_path / "a.onnx", "--skip", "first", "--skip", "gemm")
    assert told["layers"] == 2 and told["all_layers"] == 4
    tensors = {tensor.name for tensor in onnx.load(tmp_path / "a.onnx").graph.initializer}
    assert {"k1", "b1", "w", "w_quantized"} <= tensors and "k2" not in tensors
    text = refused(model, "-d", samples, "-o", tmp_path / "b.onnx", "--skip", "relu")
    assert 'no layer that can be quantised is called "relu"; there are first, by_channel, gemm, matmul' in text


def test_layers_that_lose_most_stay_in_floats(tmp_path):
    """One channel that the second layer does not read is so large that its steps leave nothing of the others."""
    first, second = (RNG.standard_normal((16, 16)).astype("float32") for _ in range(2))
    first[:, 0] *= 1e4
    second[0] = 0
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"], name="good"),
        helper.make_node("MatMul", ["h", "b"], ["y"], name="bad"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in "xy"]
    tensors = [numpy_helper.from_array(first, "a"), numpy_helper.from_array(second, "b")]
    graph = helper.make_graph(nodes, "net", values[:1], values[1:], tensors)
    model = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), model)
    np.savez(tmp_path / "samples.npz", x=RNG.standard_normal((8, 4, 16)).astype("float32"))
    samples, output = tmp_path / "samples.npz", tmp_path / "int8.onnx"
    told = quantize(model, samples, output)
    assert told["layers"] == 2 and told["outputs"][0]["decibels"] < 10
    told = quantize(model, samples, output, "--min-snr", 25)
    assert told["layers"] == 1 and told["outputs"][0]["decibels"] > 25
    assert {"a_quantized", "b"} <= {tensor.name for tensor in onnx.load(output).graph.initializer}
    text = refused(model, "-d", samples, "-o", output, "--with-first", "--min-snr", 120)
    assert "less than 120 dB whichever layer is quantised; the best, good, leaves" in text


def test_old_operators_have_one_scale_for_a_weight(samples, tmp_path):
    model = save(tmp_path / "old.onnx", opset=11, inputs_too=True)
    told = quantize(model, samples, tmp_path / "int8.onnx")
    made = onnx.load(tmp_path / "int8.onnx")
    onnx.checker.check_model(made, full_check=True)
    assert told["outputs"][0]["decibels"] > 20
    assert all(len(tensor.dims) == 0 for tensor in made.graph.initializer if tensor.name.endswith("_scale"))
    assert [value.name for value in made.graph.input] == ["x", "c"]  # weights that are gone are no inputs either
    older = save(tmp_path / "older.onnx", opset=9)
    assert "version 9 of ONNX's operators, which has no QuantizeLinear" in refused(
        older, "-d", samples, "-o", tmp_path / "b.onnx"
    )


def test_data_outside_of_the_file_is_written_into_it(model, samples, tmp_path):
    (tmp_path / "apart").mkdir()
    proto = onnx.load(model)
    apart = tmp_path / "apart" / "net.onnx"
    onnx.save(proto, apart, save_as_external_data=True, location="net.bin", size_threshold=0)
    quantize(model, samples, tmp_path / "a.onnx", "--skip", "first")
    quantize(apart, samples, tmp_path / "b.onnx", "--skip", "first")
    np.testing.assert_array_equal(answers(tmp_path / "a.onnx", samples), answers(tmp_path / "b.onnx", samples))


def test_samples_along_the_first_axis(model, samples, tmp_path):
    with np.load(samples) as data:
        np.savez(tmp_path / "flat.npz", x=data["x"].reshape(16, 3, 12, 12))
        np.savez(tmp_path / "one.npz", x=data["x"][0])
    told = quantize(model, tmp_path / "flat.npz", tmp_path / "a.onnx")
    assert told["samples"] == 16 and quantize(model, tmp_path / "one.npz", tmp_path / "b.onnx")["samples"] == 1
    quantize(model, samples, tmp_path / "c.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "c.onnx").read_bytes()


@pytest.mark.parametrize(
    "arrays, said",
    [
        ({"other": np.zeros((1, 3, 12, 12), "float32")}, 'the samples have no input "x"'),
        ({"x": np.zeros((1, 3, 12, 11), "float32")}, "along a further first axis"),
        ({"x": np.zeros((1, 3, 12, 12), "float64")}, "float64, the input is (1, 3, 12, 12) float32"),
        ({"x": np.zeros((0, 1, 3, 12, 12), "float32")}, "along a further first axis"),
    ],
)
def test_samples_that_do_not_fit(model, tmp_path, arrays, said):
    np.savez(tmp_path / "bad.npz", **arrays)
    assert said in refused(model, "-d", tmp_path / "bad.npz", "-o", tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()


def test_what_cannot_be_quantised_is_told(model, samples, tmp_path):
    assert "a model (name.onnx) or a package (name.tar)" in refused(model, "-d", samples, "-o", tmp_path / "out.bin")
    assert "there is no folder" in refused(model, "-d", samples, "-o", tmp_path / "none" / "out.onnx")
    (tmp_path / "net.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(1), float32]) { %x }')
    assert "models of ONNX are quantised" in refused(tmp_path / "net.relay", "-d", samples, "-o", tmp_path / "a.onnx")
    told = run("quantize", model, "-d", samples, "-o", tmp_path / "a.onnx", "--percentile", "120")
    assert told.returncode == 2


def test_tensors_of_zeros_and_infinities(samples, tmp_path):
    """Scales stay numbers, whatever weights and samples hold."""
    model = onnx.load(save(tmp_path / "net.onnx"))
    for tensor in model.graph.initializer:
        if tensor.name == "k2":
            tensor.CopyFrom(numpy_helper.from_array(np.zeros((8, 1, 3, 3), "float32"), "k2"))
    onnx.save(model, tmp_path / "zeros.onnx")
    quantize(tmp_path / "zeros.onnx", samples, tmp_path / "a.onnx")
    with np.load(samples) as data:
        x = data["x"].copy()
    x[0, 0, 0, 0, :2] = (np.inf, np.nan)
    np.savez(tmp_path / "odd.npz", x=x)
    quantize(tmp_path / "net.onnx", tmp_path / "odd.npz", tmp_path / "b.onnx")
    for name in ("a.onnx", "b.onnx"):
        for tensor in onnx.load(tmp_path / name).graph.initializer:
            if tensor.name.endswith("_scale"):
                scale = numpy_helper.to_array(tensor)
                assert np.isfinite(scale).all() and (scale > 0).all()


def test_the_first_layer_stays_unless_it_is_asked_for(model, samples, tmp_path):
    told = run("quantize", model, "-d", samples, "-o", tmp_path / "int8.onnx")
    assert told.returncode == 0, told.stderr
    assert "k1" in {tensor.name for tensor in onnx.load(tmp_path / "int8.onnx").graph.initializer}
    assert "3 of 4 layers on int8, a scale for each channel" in told.stdout and "same argmax" in told.stdout
