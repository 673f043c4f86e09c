"""ONNX says that an index outside of its axis is an error: it names the node, the axis and the index."""

import re

import numpy as np
import pytest
import tessera

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from tessera import relay  # noqa: E402
from tessera.contrib import graph_executor  # noqa: E402
from tessera.runtime.vm import VirtualMachine  # noqa: E402

X = np.arange(20, dtype="float32").reshape(5, 4)
KINDS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32}


def model_of(node, arrays, shapes=None, constants=()):
    inputs = [
        helper.make_tensor_value_info(name, KINDS[str(a.dtype)], (shapes or {}).get(name, a.shape))
        for name, a in arrays.items()
        if name not in constants
    ]
    values = [onnx.numpy_helper.from_array(arrays[name], name) for name in constants]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "graph", inputs, outputs, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def run_graph(model, arrays, target="llvm", device=None):
    device = device or tessera.cpu()
    mod, params = relay.frontend.from_onnx(model)
    module = graph_executor.GraphModule(relay.build(mod, target=target, params=params)["default"](device))
    module.run(**arrays)
    return module.get_output(0).numpy()


def run_machine(model, arrays):
    mod, params = relay.frontend.from_onnx(model)
    machine = VirtualMachine(relay.vm.compile(mod, target="llvm", params=params), tessera.cpu())
    return machine.invoke("main", **arrays).numpy()


def gather(index, axis=0):
    return helper.make_node("Gather", ["x", "i"], ["y"], name="embedding", axis=axis), {"x": X, "i": np.array(index)}


def gather_elements(index):
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], name="embedding", axis=1)
    return node, {"x": X, "i": np.array([[0, index]] * 5)}


def gather_nd(index):
    node = helper.make_node("GatherND", ["x", "i"], ["y"], name="embedding")
    return node, {"x": X, "i": np.array([[0, 1], [2, index]])}


def scatter_elements(index, reduction="none"):
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], name="embedding", axis=1, reduction=reduction)
    return node, {"x": X, "i": np.array([[0, index]] * 5), "u": np.ones((5, 2), "float32")}


def scatter_nd(index, reduction="none"):
    node = helper.make_node("ScatterND", ["x", "i", "u"], ["y"], name="embedding", reduction=reduction)
    return node, {"x": X, "i": np.array([[0, 1], [2, index]]), "u": np.ones(2, "float32")}


NODES = {
    "Gather": (lambda index: gather([[1, index]], 1)),
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "ScatterElements add": lambda index: scatter_elements(index, "add"),
    "ScatterElements max": lambda index: scatter_elements(index, "max"),
    "ScatterND": scatter_nd,
    "ScatterND mul": lambda index: scatter_nd(index, "mul"),
}
BAD = [4, -5, 1000, 2**32, -(2**32) + 1, 2**63 - 1, -(2**63)]


def error_of(op, index, extent=4, axis=1):
    text = f'{op} node "embedding", axis {axis}: index {index} is outside; the axis has {extent} elements'
    return pytest.raises(IndexError, match=re.escape(text))


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("run", [run_graph, run_machine])
def test_a_bad_index_names_node_axis_and_index(name, run):
    for bad in BAD:
        node, arrays = NODES[name](bad)
        with error_of(node.op_type, bad):
            run(model_of(node, arrays), arrays)


@pytest.mark.parametrize("name", NODES)
def test_the_same_with_shapes_that_are_known_at_run_time_only(name):
    node, arrays = NODES[name](4)
    shapes = {"x": ("n", "m"), "i": ("k", 2)}
    if name == "ScatterElements max":
        shapes["i"] = (5, 2)
    with error_of(node.op_type, 4):
        run_machine(model_of(node, arrays, shapes), arrays)
    node, arrays = NODES[name](-4)
    assert run_machine(model_of(node, arrays, shapes), arrays).size


@pytest.mark.parametrize("name", NODES)
def test_negative_indices_count_from_the_end(name):
    node, arrays = NODES[name](-4)
    _, counted = NODES[name](0)
    want = run_graph(model_of(node, counted), counted)
    np.testing.assert_array_equal(run_graph(model_of(node, arrays), arrays), want)


@pytest.mark.skipif(not tessera.opencl(0).exist, reason="no OpenCL device")
@pytest.mark.parametrize("name", ["Gather", "GatherElements", "GatherND", "ScatterElements"])
def test_the_same_on_a_device(name):
    node, arrays = NODES[name](9)
    with error_of(node.op_type, 9):
        run_graph(model_of(node, arrays), arrays, "opencl", tessera.opencl(0))


def test_a_model_runs_on_after_an_error():
    node, good = gather([0, 1])
    model = model_of(node, good)
    mod, params = relay.frontend.from_onnx(model)
    module = graph_executor.GraphModule(relay.build(mod, target="llvm", params=params)["default"](tessera.cpu()))
    for _ in range(3):
        with error_of("Gather", 9, 5, 0):
            module.run(x=X, i=np.array([0, 9]))
        module.run(**good)
        np.testing.assert_array_equal(module.get_output(0).numpy(), X[:2])


def test_a_node_without_a_name_is_called_by_its_output():
    node, arrays = gather([7])
    node.name = ""
    with pytest.raises(IndexError, match='Gather node "y", axis 0: index 7'):
        run_graph(model_of(node, arrays), arrays)


def test_fused_nodes_keep_their_own_names():
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["a"], name="words"),
        helper.make_node("Gather", ["x", "j"], ["b"], name="positions"),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, (5, 4)),
            helper.make_tensor_value_info("i", TensorProto.INT64, (3,)),
            helper.make_tensor_value_info("j", TensorProto.INT64, (3,)),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    good, bad = np.array([0, 1, 2]), np.array([0, 1, 5])
    for i, j, name in ((bad, good, "words"), (good, bad, "positions")):
        with pytest.raises(IndexError, match=f'Gather node "{name}", axis 0: index 5'):
            run_graph(model, {"x": X, "i": i, "j": j})


def test_constants_that_are_inside_are_not_checked():
    node, arrays = gather([0, -1])
    mod, _ = relay.frontend.from_onnx(model_of(node, arrays, constants=["i"]))
    assert "checked_as" not in mod["main"].astext()
    np.testing.assert_array_equal(run_graph(model_of(node, arrays, constants=["i"]), {"x": X}), X[[0, -1]])


def test_a_constant_that_is_outside_is_an_error_too():
    node, arrays = gather([0, 6])
    with error_of("Gather", 6, 5, 0):
        run_graph(model_of(node, arrays, constants=["i"]), {"x": X})
    with error_of("Gather", 6, 5, 0):  # found while compiling
        run_graph(model_of(node, arrays, constants=["x", "i"]), {})
