"""`--precision` of the commands that compile, and of `tessera.compile`."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tessera

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
RNG = np.random.default_rng(5)
X = RNG.standard_normal((1, 16, 12, 12)).astype("float32")


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, env=os.environ)


@pytest.fixture(params=[1, "batch"])
def model(request, tmp_path):
    """A convolution and a linear layer, for the graph executor and for the virtual machine."""
    weights = {"k": RNG.standard_normal((32, 16, 3, 3)) / 12, "w": RNG.standard_normal((32, 64)) / 6}
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [request.param, 16, 12, 12])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [request.param, 64])
    tensors = [numpy_helper.from_array(value.astype("float32"), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "net", [x], [y], tensors)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def answer(model):
    (out,) = model(X)
    return out.numpy()


@pytest.mark.parametrize("precision, apart", [("fp16", 1e-3), ("bf16", 2e-2)])
@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_layers_are_narrow_and_inputs_and_outputs_are_not(model, precision, apart, cpu):
    """A CPU with dot products of bf16 and one without."""
    wanted = answer(tessera.compile(str(model), cpu=cpu))
    found = answer(tessera.compile(str(model), cpu=cpu, precision=precision))
    assert found.dtype == np.float32
    assert 0 < np.abs(wanted - found).max() < apart * np.abs(wanted).max()


def test_packages_and_runs_take_it(model, tmp_path):
    told = run("compile", model, "--precision", "fp16", "-o", tmp_path / "net.tar")
    assert told.returncode == 0, told.stderr
    np.testing.assert_array_equal(
        answer(tessera.Model(str(tmp_path / "net.tar"))), answer(tessera.compile(str(model), precision="fp16"))
    )
    assert run("run", model, "--precision", "bf16").returncode == 0


def test_fp32_changes_nothing(model):
    np.testing.assert_array_equal(
        answer(tessera.compile(str(model))), answer(tessera.compile(str(model), precision="fp32"))
    )


@pytest.mark.parametrize("model", [1], indirect=True)
def test_one_flag_is_enough_for_matrix_units_of_a_gpu(model, tmp_path):
    told = run("compile", model, "--precision", "fp16", "--target", "cuda -arch=sm_80", "-o", tmp_path / "net.tar")
    assert told.returncode == 0, told.stderr
    lines = run("inspect", tmp_path / "net.tar").stdout.splitlines()
    (convolution,) = (line for line in lines if "nn_conv2d" in line)
    assert convolution.endswith("by gemm") and sum("layout_transform" in line for line in lines) <= 2


def test_a_precision_that_is_not_there(model, tmp_path):
    told = run("compile", model, "--precision", "fp8", "-o", tmp_path / "net.tar")
    assert told.returncode == 2 and "--precision: fp8 not in {fp32,fp16,bf16,int8}" in told.stderr
    with pytest.raises(ValueError, match='there is no precision "fp8"; there are fp32, fp16, bf16'):
        tessera.compile(str(model), precision="fp8")
    told = run("quantize", model, "-d", "x.npz", "-o", tmp_path / "a.onnx", "--precision", "fp16")
    assert told.returncode == 4 and "quantised layers are on int8; leave out --precision fp16" in told.stderr


def decibels(text):
    """Of the only output, from the table of the report."""
    (line,) = [line for line in text.splitlines() if line.startswith("y ")]
    return float(line.split()[1])


@pytest.mark.parametrize("precision, least", [("fp16", 55), ("bf16", 35), ("int8", 20)])
def test_compiling_tells_what_a_precision_costs(model, tmp_path, precision, least):
    told = run("compile", model, "--precision", precision, "-o", tmp_path / "net.tar")
    assert told.returncode == 0, told.stderr
    assert "over 8 samples" in told.stdout and least < decibels(told.stdout) < 200
    assert ("ranges of int8 are those of random inputs" in told.stderr) == (precision == "int8")
    np.savez(tmp_path / "samples.npz", x=np.stack([X, 2 * X, X - 1]))
    words = ("--precision", precision, "--inputs", tmp_path / "samples.npz")
    told = run("compile", model, *words, "-o", tmp_path / "net.tar")
    assert told.returncode == 0 and "over 3 samples" in told.stdout and "warning" not in told.stderr, told.stderr
    wanted, found = answer(tessera.compile(str(model))), answer(tessera.Model(str(tmp_path / "net.tar")))
    assert 0 < np.abs(wanted - found).max() < 0.1 * np.abs(wanted).max()


def test_the_accuracy_report_can_be_left_out(model, tmp_path):
    told = run("compile", model, "--precision", "bf16", "--no-accuracy-report", "-o", tmp_path / "net.tar")
    assert told.returncode == 0 and "signal to noise" not in told.stdout
    assert "signal to noise" not in run("compile", model, "-o", tmp_path / "net.tar").stdout


def test_int8_for_another_cpu_says_what_to_do(model, tmp_path):
    told = run("compile", model, "--precision", "int8", "--cpu", "x86-64-v2", "-o", tmp_path / "net.tar")
    assert told.returncode == 4 and "write a quantised model first (tessera quantize -o name.onnx)" in told.stderr
