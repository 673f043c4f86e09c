"""The command `tessera bench`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
QUICK = ("--repeat", "3", "--number", "1", "--seconds", "0.05")


def run(*words, **env):
    env = {**os.environ, "TESSERA_PYTHON": sys.executable, **env}
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, env=env)


def bench(*words, **env):
    told = run("bench", *words, *QUICK, "--json", "-", **env)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@pytest.fixture
def model(tmp_path):
    """y = relu(x w), with two rows of x."""
    rng = np.random.default_rng(0)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])],
        [numpy_helper.from_array(rng.standard_normal((16, 8)).astype("float32"), "w")],
    )
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_a_model_alone_is_enough(model):
    told = run("bench", model, *QUICK, "--threads", "1")
    assert told.returncode == 0, told.stderr
    for part in ("net.onnx", "x float32(2, 16)", "mean", "p50", "p90", "p99", "min", "tessera", "package", "memory"):
        assert part in told.stdout


def test_times_are_in_order_and_by_threads(model):
    told = bench(model, "--threads", "1,2", "--callers", "2")
    assert [row["threads"] for row in told["times"]] == [1, 2]
    for row in told["times"]:
        assert row["name"] == "tessera" and row["runs"] == 3
        assert 0 < row["min"] <= row["p50"] <= row["p90"] <= row["p99"] and row["min"] <= row["mean"]
        assert row["per_second"] == pytest.approx(1 / row["mean"]) and row["per_second_of_callers"] > 0
    assert told["package_bytes"] > 1000 and told["run_peak_bytes"] > 1e6 and told["executor"] == "graph"


def test_packages_and_relay_texts_can_be_measured(model, tmp_path):
    package = tmp_path / "net.tar"
    assert run("compile", model, "-o", package).returncode == 0
    told = bench(package, "--threads", "1")
    assert told["format"] == "package" and told["package_bytes"] == package.stat().st_size
    x = relay.var("x", shape=(4,))
    text = tmp_path / "net.relay"
    text.write_text(tessera.IRModule.from_expr(relay.Function([x], relay.exp(x))).astext())
    assert bench(text, "--threads", "1")["inputs"] == {"x": {"shape": [4], "dtype": "float32"}}


def test_the_report_goes_into_a_file_beside_the_table(model, tmp_path):
    told = run("bench", model, *QUICK, "--threads", "1", "--json", tmp_path / "out.json")
    assert told.returncode == 0 and "tessera" in told.stdout
    assert json.loads((tmp_path / "out.json").read_text())["times"][0]["runs"] == 3


def test_a_trace_has_a_bar_for_every_kernel_of_every_run(model, tmp_path):
    bench(model, "--threads", "1", "--trace", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    runs = [event for event in events if event.get("cat") == "run"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert len(runs) == 3 and len(kernels) >= 3 and len(kernels) % 3 == 0
    for kernel in kernels:
        assert kernel["ph"] == "X" and kernel["dur"] > 0 and "float32" in kernel["args"]["shapes"]
        assert any(r["ts"] <= kernel["ts"] and kernel["ts"] + kernel["dur"] <= r["ts"] + r["dur"] for r in runs)
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} >= {"caller"}


def test_a_program_of_the_virtual_machine_is_traced_too(model, tmp_path):
    told = bench(model, "--threads", "1", "--executor", "vm", "--trace", tmp_path / "trace.json")
    assert told["executor"] == "vm"
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert any(event.get("cat") == "kernel" for event in events)


def test_onnx_runtime_is_measured_in_turns_and_its_answers_are_compared(model):
    pytest.importorskip("onnxruntime")
    told = bench(model, "--threads", "1", "--compare", "ort")
    ours, theirs = told["times"]
    assert theirs["name"] == "onnxruntime" and theirs["runs"] == 3
    assert theirs["times_tessera"] == pytest.approx(theirs["p50"] / ours["p50"])
    assert [(row["name"], row["agrees"]) for row in told["agreement"]] == [("onnxruntime", 1)]


# A runtime that answers with the same numbers whatever it is asked.
LIAR = """
import numpy
__version__ = "0.0"
class SessionOptions: pass
class Named:
    def __init__(self, name): self.name = name
class InferenceSession:
    def __init__(self, model, options, providers): pass
    def get_inputs(self): return [Named("x")]
    def get_outputs(self): return [Named("y")]
    def run(self, names, feeds): return [numpy.full((2, 8), 7, "float32")]
"""


def test_other_answers_are_told_and_are_the_exit_code(model, tmp_path):
    (tmp_path / "onnxruntime.py").write_text(LIAR)
    words = [model, *QUICK, "--threads", "1", "--compare", "ort"]
    told = run("bench", *words, PYTHONPATH=str(tmp_path))
    assert told.returncode == 1, told.stderr
    assert "onnxruntime gives OTHER ANSWERS: y: 16 of 16 elements differ" in told.stdout


def test_a_runtime_that_is_missing_is_told_and_the_rest_goes_on(model, tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    for package in ("onnxruntime", "openvino"):
        (hidden / f"{package}.py").write_text("raise ImportError('hidden by a test')")
    told = bench(model, "--threads", "1", "--compare", "ort,openvino", PYTHONPATH=str(hidden))
    assert len(told["times"]) == 1
    assert "onnxruntime is not installed" in told["not_measured"]["ort"]
    assert "openvino is not installed" in told["not_measured"]["openvino"]
    told = bench(model, "--threads", "1", "--compare", "ort", TESSERA_PYTHON="/no/such/python")
    assert "cannot start /no/such/python" in told["not_measured"]["ort"]


@pytest.mark.parametrize(
    "words, problem",
    [
        (["--compare", "tensorflow"], 'no runtime "tensorflow"'),
        (["--threads", "none"], "--threads takes numbers"),
        (["--inputs", "missing.npz"], "missing.npz"),
    ],
)
def test_what_cannot_be_done_is_an_error(model, words, problem):
    told = run("bench", model, *QUICK, *words)
    assert told.returncode == 4 and problem in told.stderr


def test_inputs_of_a_file_are_used(model, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.ones((2, 16), "float32"))
    bench(model, "--threads", "1", "--inputs", tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", x=np.ones((3, 16), "float32"))
    told = run("bench", model, *QUICK, "--inputs", tmp_path / "x.npz")
    assert told.returncode == 4 and '"x"' in told.stderr
