"""Names of a model file survive import, fusion and packaging: of inputs, outputs and nodes."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tessera
from onnx import TensorProto, helper, numpy_helper
from tessera import relay, te
from tessera.contrib.debugger import debug_executor

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
CONV_NODES = ["block/conv", "block/norm", "block/relu"]


def weight(name, *shape):
    return numpy_helper.from_array(np.random.default_rng(5).random(shape, "float32"), name)


def save(path, nodes, inputs, outputs, weights=(), functions=()):
    def infos(shapes):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), list(weights))
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=sets, ir_version=8, functions=list(functions))
    path.write_bytes(model.SerializeToString())
    return path


def network(path, batch=1, names=(*CONV_NODES, "pool", "classifier")):
    """relu(norm(conv(image))), its mean over each channel, and a linear layer."""
    conv, norm, relu, pool, classifier = names
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], name=conv),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"], name=norm),
        helper.make_node("Relu", ["n"], ["features"], name=relu),
        helper.make_node("GlobalAveragePool", ["features"], ["p"], name=pool),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "v", "b"], ["logits"], name=classifier),
    ]
    weights = [weight("w", 4, 3, 3, 3), weight("v", 4, 5), weight("b", 5)]
    weights += [weight(name, 4) for name in ("scale", "shift", "mean", "var")]
    outputs = {"logits": [batch, 5], "features": [batch, 4, 6, 6]}
    return save(path, nodes, {"image": [batch, 3, 8, 8]}, outputs, weights)


@pytest.fixture(params=[1, "n"], ids=["graph", "machine"])
def compiled(request, tmp_path):
    return tessera.compile(network(tmp_path / "net.onnx", request.param))


def profile(model):
    module = model._built["runnable"]
    image = np.ones((1, 3, 8, 8), "float32")
    if module.type_key == "VMExecutable":
        from tessera.runtime.profiler_vm import VirtualMachineProfiler

        return VirtualMachineProfiler(module, tessera.cpu()).profile(image=image)
    executor = debug_executor.GraphModuleDebug(
        module["debug_create"]("default", tessera.cpu()), [tessera.cpu()], module["get_graph_json"](), None
    )
    return executor.profile(image=image)


def test_inputs_and_outputs_keep_their_names_through_packages(compiled, tmp_path):
    for name in ("net.tar", "net.so"):
        compiled.save(tmp_path / name)
    for model in (compiled, tessera.Model(tmp_path / "net.tar"), tessera.Model(tmp_path / "net.so")):
        assert [info.name for info in model.inputs] == ["image"]
        assert [info.name for info in model.outputs] == ["logits", "features"]


def test_a_profile_names_the_nodes_of_each_kernel(compiled):
    report = profile(compiled)
    calls = [str(call["Nodes"]) for call in report.calls if "Nodes" in call]
    assert any(set(call.split(", ")) >= set(CONV_NODES) for call in calls), calls
    assert any("classifier" in call.split(", ") for call in calls), calls
    assert any("pool" in call for call in calls), calls
    columns = report.table().splitlines()[0]
    assert columns.index("Nodes") < columns.index("Argument Shapes")


def test_every_kernel_names_the_nodes_it_was_made_from(compiled):
    module = compiled._built["runnable"]
    if module.type_key == "VMExecutable":
        return
    for node in json.loads(module["get_graph_json"]())["nodes"]:
        if node["op"] != "null" and "layout_transform" not in node["name"]:
            assert node["attrs"]["source_nodes"], node["name"]


def test_a_node_without_a_name_is_told_by_its_operator_and_output(tmp_path):
    nodes = [helper.make_node("Exp", ["x"], ["y"]), helper.make_node("Softmax", ["y"], ["z"], name="last")]
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x": [2, 3]}, {"z": [2, 3]}))
    sources = [
        node["attrs"]["source_nodes"].split("\n")
        for node in json.loads(model._built["runnable"]["get_graph_json"]())["nodes"]
        if node["op"] != "null"
    ]
    assert [name for names in sources for name in names] == ["Exp -> y", "last"]


def test_nodes_of_a_function_are_named_after_its_call(tmp_path):
    body = [helper.make_node("Exp", ["a"], ["b"], name="inner")]
    twice = helper.make_function("own", "Curve", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [
        helper.make_node("Curve", ["x"], ["u"], domain="own", name="first"),
        helper.make_node("Softmax", ["u"], ["v"], name="between"),
        helper.make_node("Curve", ["v"], ["y"], domain="own", name="second"),
    ]
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x": [2, 3]}, {"y": [2, 3]}, functions=[twice]))
    text = model._built["runnable"]["get_graph_json"]()
    assert "first/inner" in text and "second/inner" in text


def test_nodes_with_equal_kernels_share_one_and_keep_their_names(tmp_path):
    nodes = []
    for i in range(3):
        nodes.append(helper.make_node("Softmax", [f"x{i}"], [f"x{i + 1}"], name=f"soft{i}"))
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x0": [2, 3]}, {"x3": [2, 3]}))
    attrs = [
        node["attrs"]
        for node in json.loads(model._built["runnable"]["get_graph_json"]())["nodes"]
        if node["op"] != "null"
    ]
    assert len({each["func_name"] for each in attrs}) == 1
    assert [each["source_nodes"] for each in attrs] == ["soft0", "soft1", "soft2"]


def test_names_are_no_part_of_the_key_of_a_cached_kernel(tmp_path, monkeypatch):
    monkeypatch.delenv("TESSERA_CACHE", raising=False)
    monkeypatch.setenv("TESSERA_CACHE_DIR", str(tmp_path / "cache"))
    tessera.compile(network(tmp_path / "a.onnx"))
    before = int(tessera.get_global_func("codegen.cache_info")()["misses"])
    tessera.compile(network(tmp_path / "b.onnx", names=["a", "b", "c", "d", "e"]))
    assert int(tessera.get_global_func("codegen.cache_info")()["misses"]) == before


def test_an_input_may_be_called_as_weights_are(tmp_path):
    nodes = [helper.make_node("Add", ["p0", "w"], ["y"])]
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"p0": [2, 3]}, {"y": [2, 3]}, [weight("w", 2, 3)]))
    assert [info.name for info in model.inputs] == ["p0"]
    zero = model.run(np.zeros((2, 3), "float32"))[0]
    np.testing.assert_array_equal(model.run(np.ones((2, 3), "float32"))[0], zero + 1)


def test_long_lists_of_names_are_cut(tmp_path):
    nodes = [helper.make_node("Exp", [f"x{i}"], [f"x{i + 1}"], name=f"n{i}-" + "long" * 100) for i in range(40)]
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x0": [2]}, {"x40": [2]}))
    for node in json.loads(model._built["runnable"]["get_graph_json"]())["nodes"]:
        lines = node.get("attrs", {}).get("source_nodes", "").split("\n")
        assert len(lines) <= 17 and all(len(line) <= 210 for line in lines)
        assert len(lines) < 17 or lines[16].endswith(" more")


def test_control_characters_of_a_name_reach_no_terminal(tmp_path):
    nodes = [helper.make_node("Exp", ["x"], ["y"], name="bell\x07\nline")]
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x": [2]}, {"y": [2]}))
    assert "bell  line" in model._built["runnable"]["get_graph_json"]()


def test_an_error_of_a_run_names_the_node(tmp_path):
    nodes = [
        helper.make_node("Exp", ["x"], ["r"], name="before"),
        helper.make_node("Add", ["r", "y"], ["z"], name="the sum"),
    ]
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x": ["n", 4], "y": ["m", 4]}, {"z": ["n", 4]}))
    assert model.run(np.ones((3, 4), "float32"), np.ones((3, 4), "float32"))[0].shape == (3, 4)
    with pytest.raises((ValueError, tessera.TVMError), match="in nodes before, the sum"):
        model.run(np.ones((2, 4), "float32"), np.ones((3, 4), "float32"))


def test_an_error_of_a_kernel_names_the_nodes_it_computes(tmp_path):
    nodes = [
        helper.make_node("Exp", ["x"], ["r"], name="first"),
        helper.make_node("Neg", ["r"], ["y"], name="second"),
    ]
    model = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x": [4]}, {"y": [4]}))
    graph = json.loads(model._built["runnable"]["get_graph_json"]())
    (kernel,) = [node["attrs"]["func_name"] for node in graph["nodes"] if node["op"] != "null"]
    code = tessera.build(te_copy(5), name=kernel)  # a kernel that checks for another shape
    executor = tessera.contrib.graph_executor.create(json.dumps(graph), code, tessera.cpu())
    with pytest.raises(tessera.TVMError, match=r"in nodes first, second"):
        executor.run(x=np.ones(4, "float32"))


@pytest.mark.parametrize(
    "names, message", [(["a", "b"], "2 output_names for 1 outputs"), ([3], "the name of an output is not a string")]
)
def test_forged_names_in_a_graph_are_rejected(tmp_path, names, message):
    nodes = [helper.make_node("Exp", ["x"], ["y"])]
    module = tessera.compile(save(tmp_path / "m.onnx", nodes, {"x": [4]}, {"y": [4]}))._built["runnable"]
    graph = json.loads(module["get_graph_json"]())
    graph["attrs"]["output_names"][1] = names
    with pytest.raises(ValueError, match=message):
        tessera.contrib.graph_executor.create(json.dumps(graph), module, tessera.cpu())


def te_copy(extent):
    x = te.placeholder((extent,), name="x")
    y = te.compute((extent,), lambda i: x[i], name="y")
    return te.create_prim_func([x, y])


def test_an_error_while_types_are_found_names_the_node(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="before"),
        helper.make_node("MatMul", ["r", "w"], ["y"], name="bad matmul"),
    ]
    path = save(tmp_path / "m.onnx", nodes, {"x": [2, 3]}, {"y": [2, 5]}, [weight("w", 4, 5)])
    with pytest.raises(Exception, match="bad matmul"):
        tessera.compile(path)


def test_a_relay_text_names_no_nodes(tmp_path):
    (tmp_path / "m.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }\n')
    model = tessera.compile(tmp_path / "m.relay")
    text = model._built["runnable"]["get_graph_json"]()
    assert "source_nodes" not in text and "output_names" not in text
    assert [info.name for info in model.outputs] == ["output_0"]


def test_names_of_outputs_survive_the_text_of_a_module(tmp_path):
    mod, _ = relay.frontend.from_onnx(str(network(tmp_path / "net.onnx")))
    again = tessera.parser.fromtext(mod.astext())
    assert [info.name for info in tessera.compile(again).outputs] == ["logits", "features"]


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def tool(tmp_path):
    def run(*words, name=PROGRAM):
        env = {**os.environ, "TESSERA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [name, *map(str, words)], executable=PROGRAM, capture_output=True, text=True, env=env, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    return run


@pytest.mark.parametrize("batch", [1, "n"], ids=["graph", "machine"])
def test_the_program_names_nodes_and_outputs_everywhere(tool, tmp_path, batch):
    path, package = network(tmp_path / "net.onnx", batch), tmp_path / "net.tar"
    tool("compile", path, "-o", package)
    told = json.loads(tool("inspect", package, "--json"))
    assert [output["name"] for output in told["outputs"]] == ["logits", "features"]
    calls = [call for kernel in told["operators"] for call in kernel.get("nodes", [])]
    assert any(set(call) >= set(CONV_NODES) for call in calls), calls
    assert ", ".join(CONV_NODES[:1]) in tool("inspect", package)
    table = tool("run", package)
    assert "\nlogits " in table and "\nfeatures " in table
    assert "block/conv" in tool("run", package, "--profile")
    tool("run", package, "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as out:
        assert list(out) == ["logits", "features"]
    told = json.loads(tool("diff", path, package, "--json"))
    assert [output["name"] for output in told["outputs"]] == ["logits", "features"]
    tool("bench", package, "--trace", tmp_path / "trace.json", "--repeat", 1)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert any("block/conv" in event.get("args", {}).get("nodes", "") for event in events)


def test_tvmc_numbers_outputs_as_it_always_did(tool, tmp_path):
    tool("run", network(tmp_path / "net.onnx"), "-o", tmp_path / "out.npz", name="tvmc")
    with np.load(tmp_path / "out.npz") as out:
        assert list(out) == ["output_0", "output_1"]
