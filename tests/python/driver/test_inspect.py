"""The command `tessera inspect`."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"


def inspect(*words):
    return subprocess.run([PROGRAM, "inspect", *map(str, words)], capture_output=True, text=True, check=False)


def facts(*words, code=0):
    told = inspect(*words, "--json")
    assert told.returncode == code, told.stderr
    return json.loads(told.stdout)


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, nodes, inputs, outputs, initializers=(), values=(), **more):
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(initializers), value_info=list(values))
    more.setdefault("opset_imports", [helper.make_opsetid("", 17)])
    onnx.save(helper.make_model(graph, ir_version=8, producer_name="maker", producer_version="1.5", **more), path)
    return path


def weights(name, *shape):
    return numpy_helper.from_array(np.ones(shape, "float32"), name)


@pytest.fixture
def small(tmp_path):
    """A convolution, an activation, a matmul; the batch is dynamic."""
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"], name="last"),
    ]
    made = [weights("k", 8, 3, 3, 3), weights("w", 8, 10)]
    return save(tmp_path / "small.onnx", nodes, [value("x", ["batch", 3, 16, 16])], [value("y", ["batch", 10])], made)


def test_inputs_outputs_weights_and_work_of_an_onnx_file_are_told(small):
    told = facts(small)
    assert (
        told["format"] == "onnx"
        and told["producer"] == "maker 1.5"
        and told["opset"] == {"ai.onnx": 17}
        and told["ir"] == 8
    )
    assert told["inputs"] == [{"name": "x", "dtype": "float32", "shape": [-1, 3, 16, 16], "extents": {"0": "batch"}}]
    assert told["outputs"][0]["name"] == "y" and told["outputs"][0]["shape"] == [-1, 10]
    assert told["parameters"] == {"count": 8 * 27 + 80, "tensors": 2, "bytes": 4 * (8 * 27 + 80)}
    operators = {row["name"]: row for row in told["operators"]}
    assert {name: row["count"] for name, row in operators.items()} == {
        "Conv": 1, "Relu": 1, "GlobalAveragePool": 1, "Flatten": 1, "MatMul": 1
    }  # fmt: skip
    assert operators["Conv"]["macs"] == 8 * 16 * 16 * 27 and operators["MatMul"]["macs"] == 80
    assert operators["Relu"]["flops"] == 8 * 16 * 16 and operators["Flatten"]["flops"] == 0
    assert told["has_dynamic_extents"] and told["unsupported"] == []
    assert told["macs"] == sum(row["macs"] for row in told["operators"])


def test_the_table_for_people_says_the_same(small):
    told = inspect(small)
    assert told.returncode == 0
    for part in ("maker 1.5", "ai.onnx 17", "(batch: Any, 3, 16, 16)", "Conv", "unknown extents counted as 1"):
        assert part in told.stdout


def test_given_shapes_replace_those_of_the_file(small):
    told = facts(small, "--input-shapes", "x:[4,3,8,8]")
    assert told["inputs"][0]["shape"] == [4, 3, 8, 8] and told["outputs"][0]["shape"] == [4, 10]
    assert not told["has_dynamic_extents"] and told["macs"] == 4 * (8 * 64 * 27 + 80)
    wrong = inspect(small, "--input-shapes", "z:[1]")
    assert wrong.returncode == 4 and 'no input "z"' in wrong.stderr


def test_all_unsupported_operators_are_listed_at_once(tmp_path):
    branch = helper.make_graph(
        [helper.make_node("Deep", ["x"], ["b"], domain="com.example")], "then", [], [value("b", [4])]
    )
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["b"])], "else", [], [value("b", [4])])
    function = helper.make_function(
        "com.example", "Outer", ["a"], ["b"], [helper.make_node("Inner", ["a"], ["b"], domain="com.example", name="in")],
        [helper.make_opsetid("com.example", 3)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Strange", ["x"], ["s"], name="first", domain="com.example"),
        helper.make_node("If", ["flag"], ["i"], then_branch=branch, else_branch=other),
        helper.make_node("Outer", ["x"], ["o"], domain="com.example"),
        helper.make_node("Relu", ["s"], ["t"], name="needs_the_first"),
        helper.make_node("Multinomial", ["t"], ["m"], name="last"),
        helper.make_node("Add", ["i", "o"], ["y"]),
    ]
    path = save(
        tmp_path / "strange.onnx", nodes, [value("x", [4]), value("flag", [], TensorProto.BOOL)],
        [value("y", [4]), value("t", [4])], functions=[function],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 2)],
    )  # fmt: skip
    told = facts(path, code=1)
    found = {(row["operator"], row["domain"], row["version"], row["node"]) for row in told["unsupported"]}
    assert {
        ("Strange", "com.example", 2, "first"),
        ("Deep", "com.example", 2, "b"),
        ("Inner", "com.example", 3, "in"),
    } <= found
    assert "needs_the_first" not in str(told["unsupported"])
    shown = inspect(path)
    assert shown.returncode == 1 and "Strange of com.example 2, first: the operator is not supported" in shown.stdout


def test_converters_that_reject_are_collected_too_and_what_follows_is_looked_at(tmp_path):
    nodes = [
        helper.make_node("Einsum", ["x", "x"], ["e"], name="open", equation="ij,kj->ik"),
        helper.make_node("Col2Im", ["e4", "r", "b"], ["q"], name="col2im"),
        helper.make_node("Relu", ["e"], ["y"]),
        helper.make_node("CumSum", ["e", "axis"], ["z"], name="axis_at_run_time"),
    ]
    path = save(
        tmp_path / "rejected.onnx", nodes,
        [value("x", ["n", 3]), value("e4", [1, 5, "h"]), value("r", [2], TensorProto.INT64), value("b", [2], TensorProto.INT64),
         value("axis", [1], TensorProto.INT64)],
        [value("y", None), value("q", None), value("z", None)], values=[value("e", ["n", "n"])],
    )  # fmt: skip
    rows = {row["node"]: row for row in facts(path, code=1)["unsupported"]}
    assert "col2im" in rows and "axis_at_run_time" in rows
    assert "axis" in rows["axis_at_run_time"]["reason"]


def test_unsupported_nodes_of_other_formats_are_listed_too(tmp_path):
    tiny = Path(__file__).resolve().parents[2] / "frameworks" / "tiny_tensorflow"
    graph = tmp_path / "net.pb"
    graph.write_bytes(
        (tiny / "network.pb").read_bytes().replace(b"Softmax", b"Softmix").replace(b"AvgPool", b"AvgPall")
    )
    found = {row["operator"]: row["reason"] for row in facts(graph, code=1)["unsupported"]}
    assert found == dict.fromkeys(["Softmix", "AvgPall"], "the operator is not supported")
    graph.write_bytes((tiny / "network.pb").read_bytes().replace(b"Softmax", b"Softmix").replace(b"SAME", b"SOME"))
    found = {row["operator"]: row["reason"] for row in facts(graph, code=1)["unsupported"]}
    assert found == {
        "Softmix": "the operator is not supported",
        "Conv2D": "the padding SOME",
    }  # what follows is not known
    folder = tmp_path / "model"
    shutil.copytree(tiny / "recurrent.saved_model", folder)
    saved = folder / "saved_model.pb"
    saved.write_bytes(saved.read_bytes().replace(b"\x04Tanh", b"\x04Tonh"))
    (row,) = facts(folder, code=1)["unsupported"]
    assert row["operator"] == "Tonh" and row["kind"] == "unsupported"
    assert facts(tiny / "recurrent.saved_model")["format"] == "pb"

    nodes = [
        {"op": op, "name": f"{op}_{i}", "inputs": [[i, 0, 0]]} for i, op in enumerate(["wonder", "exp", "Pooling"])
    ]
    nodes = [{"op": "null", "name": "x", "inputs": []}, *nodes]
    symbol = tmp_path / "net-symbol.json"
    symbol.write_text(json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[3, 0, 0]]}))
    rows = facts(symbol, "--input-shapes", "x:[1,2]", code=1)["unsupported"]
    assert [(row["operator"], row["node"]) for row in rows] == [("wonder", "wonder_0")]
    nodes[1]["op"] = "log"
    nodes[2] |= {"op": "Activation", "attrs": {"act_type": "marvel"}}
    symbol.write_text(json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[3, 0, 0]]}))
    shown = inspect(symbol, "--input-shapes", "x:[1,2]")
    assert shown.returncode == 1 and "Activation, exp_1: " in shown.stdout and "marvel" in shown.stdout


def test_a_loop_around_an_unsupported_node_is_not_listed_itself(tmp_path):
    loop = Path(__file__).resolve().parents[2] / "fuzz" / "corpus" / "mxnet_symbol" / "loop.json"
    symbol = tmp_path / "net-symbol.json"
    symbol.write_text(loop.read_text().replace("elemwise_add", "wonder"))
    rows = facts(symbol, code=1)["unsupported"]
    assert [(row["operator"], row["node"]) for row in rows] == [("wonder", "add")]


def test_a_relay_text_is_told_by_its_operators(tmp_path):
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    mod = tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    path = tmp_path / "net.relay"
    path.write_text(mod.astext())
    told = facts(path)
    assert [row["name"] for row in told["operators"]] == ["nn.dense", "nn.relu"]
    assert told["macs"] == 64 and told["flops"] == 128 + 8
    assert [(row["name"], row["shape"]) for row in told["inputs"]] == [("x", [2, 8]), ("w", [4, 8])]
    assert told["outputs"][0]["shape"] == [2, 4]


def test_packages_and_libraries_are_told_without_running_their_code(small, tmp_path):
    package = tmp_path / "small.tar"
    words = ["compile", small, "--input-shapes", "x:[1,3,16,16]", "-o", package]
    subprocess.run([PROGRAM, *map(str, words)], check=True)
    told = facts(package)
    assert told["format"] == "package, classic" and told["executor"] == "graph"
    assert set(told["members"]) == {"mod.so", "mod.json", "mod.params"}
    assert told["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 3, 16, 16]}]
    assert told["outputs"][0]["shape"] == [1, 10] and told["parameters"]["count"] > 0
    assert told["machine"] and told["needs"][0]["cpu"] and told["needs"][0]["features"]
    assert told["kernels"]["count"] <= told["kernels"]["calls"] and told["memory"] >= 4 * 8 * 16 * 16
    assert "contraction" in " ".join(kernel["rule"] for kernel in told["operators"] if "rule" in kernel)
    assert "  by " in inspect(package).stdout, "the schedule rule of a kernel"
    plans = [plan for kernel in told["operators"] for plan in kernel.get("plans", [])]
    assert any(plan.startswith("contraction(rows=") for plan in plans), "what the rules decided"

    open_shapes = tmp_path / "open.tar"
    subprocess.run([PROGRAM, "compile", str(small), "-o", str(open_shapes)], check=True)
    told = facts(open_shapes)
    assert told["format"] == "package, vm" and told["executor"] == "vm"
    assert told["inputs"] == [{"name": "x", "dtype": "float32", "shape": [-1, 3, 16, 16]}]
    assert "contraction" in " ".join(kernel["rule"] for kernel in told["operators"] if "rule" in kernel)

    x = relay.var("x", shape=(4,))
    library = tmp_path / "lib.so"
    relay.build(tessera.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm").export_library(str(library))
    told = facts(library)
    assert told["format"] == "library" and told["inputs"][0]["shape"] == [4] and "exp" in told["operators"][0]["name"]
    assert told["operators"][0]["rule"], "also where the graph names no nodes"


def test_files_that_are_no_models_are_errors(tmp_path):
    assert inspect(tmp_path / "missing.onnx").returncode == 4
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff\xfe no protobuf")
    told = inspect(broken)
    assert told.returncode == 4 and told.stderr.startswith("Error: ") and told.stdout == ""


def test_names_of_files_do_not_speak_to_the_terminal(tmp_path):
    path = save(
        tmp_path / "escape.onnx", [helper.make_node("Relu", ["\x1b[31mx"], ["y"])], [value("\x1b[31mx", [1])], [value("y", [1])]
    )  # fmt: skip
    assert "\x1b" not in inspect(path).stdout
