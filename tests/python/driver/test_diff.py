"""The command `tessera diff`."""

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


def run(*words):
    env = {**os.environ, "TESSERA_PYTHON": sys.executable}
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, env=env)


def diff(*words, code):
    told = run("diff", *words, "--json")
    assert told.returncode == code, told.stderr
    return json.loads(told.stdout)


def save(path, bias=0.0, name="y"):
    """Two linear layers; `bias` is added between them."""
    rng = np.random.default_rng(0)
    made = {"w1": rng.standard_normal((16, 8)), "w2": rng.standard_normal((8, 4)), "bias": np.full(8, bias)}
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h1"], name="first"),
        helper.make_node("Add", ["h1", "bias"], ["h2"], name="shift"),
        helper.make_node("Tanh", ["h2"], ["h3"], name="bend"),
        helper.make_node("MatMul", ["h3", "w2"], [name], name="second"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 16])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(array.astype("float32"), key) for key, array in made.items()],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.fixture
def model(tmp_path):
    return save(tmp_path / "net.onnx")


def test_levels_of_one_model_agree(model):
    told = diff(model, "--opt-level-a", 0, "--opt-level-b", 3, "--all-layers", code=0)
    assert told["agrees"] and "first_layer" not in told
    assert told["outputs"][0]["name"] == "y" and told["outputs"][0]["max_abs_error"] < 1e-4


def test_executors_and_packages_agree_with_the_model(model, tmp_path):
    diff(model, "--executor-b", "vm", code=0)
    package = tmp_path / "net.tar"
    assert run("compile", model, "-o", package).returncode == 0
    assert diff(model, package, code=0)["second"].startswith(str(package))


def test_the_first_layer_that_differs_between_two_files_is_named(model, tmp_path):
    other = save(tmp_path / "other.onnx", bias=0.25)
    told = diff(model, other, code=1)
    layer = told["first_layer"]
    assert (layer["operator"], layer["node"], layer["name"]) == ("Add", "shift", "h2")
    assert layer["shape"] == [2, 8] and layer["max_abs_error"] == pytest.approx(0.25, rel=1e-4)
    assert layer["wrong_elements"] == 16 and layer["place"] == 1
    shown = run("diff", model, other)
    assert shown.returncode == 1
    assert "The first layer that differs is number 2 of 4" in shown.stdout and "Add shift -> h2" in shown.stdout


@pytest.mark.skipif(" fma " not in Path("/proc/cpuinfo").read_text(), reason="needs a CPU that can round otherwise")
def test_targets_that_round_otherwise_differ_where_no_error_is_allowed(model):
    words = [model, "--target-b", "llvm -mcpu=x86-64"]
    told = diff(*words, "--rtol", 0, "--atol", 0, code=1)
    assert told["first_layer"]["node"] == "first" and not told["first_layer"]["by_bisection"]
    diff(*words, code=0)


def test_a_difference_that_only_a_fused_program_has_is_found_by_bisection(tmp_path):
    rng = np.random.default_rng(0)
    made = {"k": rng.standard_normal((8, 3, 3, 3)), "s": rng.standard_normal((8, 1, 1))}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "k"], ["c"]), helper.make_node("Mul", ["c", "s"], ["y"], name="scale")],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 6, 6])],
        [numpy_helper.from_array(array.astype("float32"), key) for key, array in made.items()],
    )
    path = tmp_path / "scaled.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    # The scale is folded into the weights of the second, unless the value before it is kept.
    told = diff(path, "--disabled-pass-a", "BackwardFoldScaleAxis", "--rtol", 0, "--atol", 0, code=1)
    assert told["first_layer"]["node"] == "scale" and told["first_layer"]["by_bisection"]


def test_layers_of_a_relay_text_have_names_of_their_operators(tmp_path):
    path = tmp_path / "exp.relay"
    x = relay.var("x", shape=(64,))
    path.write_text(tessera.IRModule.from_expr(relay.Function([x], relay.exp(x) + x)).astext())
    told = diff(path, "--opt-level-a", 0, "--all-layers", code=0)
    assert told["outputs"][0]["name"] == "output_0"
    assert "No layer of 2 that both have differs" in run("diff", path, "--opt-level-a", 0, "--all-layers").stdout


def test_files_without_common_names_are_compared_by_their_outputs(model, tmp_path):
    other = save(tmp_path / "other.onnx", bias=0.25)
    package = tmp_path / "other.tar"
    assert run("compile", other, "-o", package).returncode == 0
    told = diff(model, package, code=1)
    assert not told["outputs"][0]["agrees"] and "first_layer" not in told
    assert "no names of values in common" in run("diff", model, package).stdout


def test_onnx_runtime_is_a_side(model, tmp_path):
    pytest.importorskip("onnxruntime")
    assert "onnxruntime" in diff(model, "ort", code=0)["second"]
    told = diff(model, "ort", "--rtol", 0, "--atol", 0, "--all-layers", code=1)
    assert told["first_layer"]["node"] in ("first", "bend", "second")


def test_values_that_nothing_uses_are_no_layers(tmp_path):
    pytest.importorskip("onnxruntime")
    graph = helper.make_graph(
        [helper.make_node("Dropout", ["x"], ["d", "mask"]), helper.make_node("Neg", ["d"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8])],
    )
    path = tmp_path / "dropout.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 9)]), path)
    assert "No layer of 1 that both have differs" in run("diff", path, "ort", "--all-layers").stdout


def test_inputs_can_be_given(model, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 16), "float32"))
    told = diff(model, save(tmp_path / "same.onnx"), "--inputs", tmp_path / "x.npz", code=0)
    assert told["outputs"][0]["max_abs_error"] == 0


def narrow(path, target, keeps_io):
    """The model with all floats as fp16; with `keeps_io` its inputs and outputs stay as they are."""
    model = onnx.load(path)
    graph = model.graph
    for tensor in graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype("float16"), tensor.name))
    if keeps_io:
        graph.node[0].input[0], graph.node[-1].output[0] = "x_half", "y_half"
        graph.node.insert(0, helper.make_node("Cast", ["x"], ["x_half"], to=TensorProto.FLOAT16))
        graph.node.append(helper.make_node("Cast", ["y_half"], ["y"], to=TensorProto.FLOAT))
    else:
        for value in [*graph.input, *graph.output]:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(model, target)
    return target


@pytest.mark.parametrize("keeps_io", [False, True])
def test_a_model_agrees_with_its_fp16_copy(model, tmp_path, keeps_io):
    half = narrow(model, tmp_path / "half.onnx", keeps_io)
    told = diff(model, half, "--all-layers", code=0)
    assert told["narrowest_float"] == "float16" and told["outputs"][0]["max_abs_error"] > 0
    assert diff(half, model, code=0)["agrees"]
    assert "float16 is computed with: agreement is to rtol 0.016" in run("diff", model, half).stdout


def test_an_fp16_copy_with_other_weights_differs_at_the_layer_that_has_them(model, tmp_path):
    other = narrow(save(tmp_path / "other.onnx", bias=0.25), tmp_path / "half.onnx", keeps_io=True)
    assert diff(model, other, code=1)["first_layer"]["node"] == "shift"


def test_a_tolerance_that_is_given_holds_for_fp16_too(model, tmp_path):
    half = narrow(model, tmp_path / "half.onnx", keeps_io=False)
    told = diff(model, half, "--rtol", "1e-6", "--atol", "1e-9", code=1)
    assert told["rtol"] == 1e-6 and told["first_layer"]["node"] == "first"


def test_inputs_of_a_file_are_taken_in_any_float_type(model, tmp_path):
    half = narrow(model, tmp_path / "half.onnx", keeps_io=False)
    np.savez(tmp_path / "x.npz", x=np.full((2, 16), 0.1, "float64"))
    assert diff(half, model, "--inputs", tmp_path / "x.npz", code=0)["agrees"]


def test_what_cannot_be_compared_is_an_error(model, tmp_path):
    assert "nothing to compare" in run("diff", model).stderr
    missing = run("diff", model, tmp_path / "missing.onnx")
    assert missing.returncode == 4 and "missing.onnx" in missing.stderr
    package = tmp_path / "net.tar"
    assert run("compile", model, "-o", package).returncode == 0
    told = run("diff", model, package, "--opt-level-b", 0)
    assert told.returncode == 4 and "compiled already" in told.stderr
