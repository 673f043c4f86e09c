"""Graphs of external functions as JSON: what is read, and that nothing else is."""

import copy
import json

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.op.contrib import dnnl

CREATE = tessera.get_global_func("runtime.DNNLJSONRuntimeCreate")


def external(op=relay.nn.relu, weight=None):
    x = relay.var("x", shape=(2, 3))
    body = op(x) if weight is None else relay.nn.dense(x, relay.const(weight))
    function = relay.Function([x], body).with_attr("global_symbol", tessera.runtime.String("f"))
    return relay.transform.InferType()(tessera.IRModule({"f": function}))["f"]


def code(**options):
    return tessera.get_global_func("relay.ext.dnnl")(external(**options))


def test_a_graph_has_v0_10s_form():
    module = code(weight=np.ones((4, 3), "float32"))
    graph = json.loads(module.get_source())
    assert module.type_key == "dnnl_json" and module["get_symbol"]() == "f"
    assert [str(name) for name in module["get_const_vars"]()] == ["f_const_0"]
    assert [node["op"] for node in graph["nodes"]] == ["input", "const", "kernel"]
    kernel = graph["nodes"][2]
    assert kernel["name"] == "nn.dense" and kernel["inputs"] == [[0, 0, 0], [1, 0, 0]]
    assert kernel["attrs"]["shape"] == [[[2, 4]]] and kernel["attrs"]["dtype"] == [["float32"]]
    assert kernel["attrs"]["num_inputs"] == "2" and kernel["attrs"]["num_outputs"] == "1"
    assert graph["arg_nodes"] == [0, 1] and graph["heads"] == [[2, 0, 0]] and graph["node_row_ptr"] == [0, 1, 2, 3]


def broken(change):
    graph = copy.deepcopy(json.loads(code().get_source()))
    change(graph)
    return json.dumps(graph)


BAD = {
    "text": (lambda g: None, ""),
    "no nodes": (lambda g: g.pop("nodes"), "it has no nodes"),
    "nodes no list": (lambda g: g.update(nodes=3), "nodes is not a list"),
    "unknown op": (lambda g: g["nodes"][1].update(op="odd"), 'unknown op "odd"'),
    "later node": (lambda g: g["nodes"][1].update(inputs=[[1, 0, 0]]), "is of node 1, but only 1 come before"),
    "negative node": (lambda g: g["nodes"][1].update(inputs=[[-1, 0, 0]]), "is of node -1"),
    "no such result": (lambda g: g["nodes"][1].update(inputs=[[0, 1, 0]]), "is result 1 of a node with 1"),
    "short triple": (lambda g: g["nodes"][1].update(inputs=[[0]]), "is not a node and an index"),
    "shape of text": (lambda g: g["nodes"][0]["attrs"].update(shape=[[["a"]]]), "'s shape is not a number"),
    "negative extent": (lambda g: g["nodes"][0]["attrs"].update(shape=[[[-2, 3]]]), "has a negative extent"),
    "huge": (lambda g: g["nodes"][0]["attrs"].update(shape=[[[2**62, 2**62]]]), ""),
    "many dimensions": (lambda g: g["nodes"][0]["attrs"].update(shape=[[[1] * 13]]), "more than 12 dimensions"),
    "shapes and types": (lambda g: g["nodes"][0]["attrs"].update(dtype=[["float32"] * 2]), "has 1 shapes and 2 types"),
    "odd type": (lambda g: g["nodes"][0]["attrs"].update(dtype=[["flout32"]]), "unknown type flout32"),
    "argument is kernel": (lambda g: g.update(arg_nodes=[0, 1]), "arg_nodes has a kernel"),
    "argument twice": (lambda g: g.update(arg_nodes=[0, 0]), "arg_nodes has 0 twice"),
    "argument left out": (lambda g: g.update(arg_nodes=[]), "node 0 is an argument that arg_nodes does not have"),
    "no results": (lambda g: g.update(heads=[]), "it has no results"),
    "constant without name": (lambda g: g["nodes"][0].update(op="const"), "the graph has 1 constants, but 0 are named"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_graph_is_an_error_that_says_where(kind):
    change, message = BAD[kind]
    text = "{" if kind == "text" else broken(change)
    with pytest.raises((ValueError, TypeError, tessera.TVMError), match=message or None):
        CREATE("f", text, [])


@pytest.mark.skipif(not dnnl.is_dnnl_available(), reason="oneDNN is not there: apt install libdnnl2")
def test_a_layout_that_is_none_and_tensors_without_elements_are_errors():
    x, w = relay.var("x", shape=(1, 2, 4, 4)), relay.var("w", shape=(3, 2, 3, 3))
    function = relay.Function([x, w], relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=3))
    function = function.with_attr("global_symbol", tessera.runtime.String("f"))
    typed = relay.transform.InferType()(tessera.IRModule({"f": function}))["f"]
    graph = json.loads(tessera.get_global_func("relay.ext.dnnl")(typed).get_source())
    graph["nodes"][2]["attrs"]["kernel_layout"] = [[""]]
    tensors = [tessera.nd.empty(shape) for shape in ((1, 2, 4, 4), (3, 2, 3, 3), (1, 3, 2, 2))]
    with pytest.raises(ValueError, match='weights in the layout ""'):
        CREATE("f", json.dumps(graph), [])["f"](*tensors)
    empty = broken(lambda g: [node["attrs"].update(shape=[[[0, 3]]]) for node in g["nodes"]])
    with pytest.raises(ValueError, match="has no elements"):
        CREATE("f", empty, [])["f"](tessera.nd.empty((0, 3)), tessera.nd.empty((0, 3)))


def test_calls_are_checked():
    module = code()
    call = module["f"]
    x, out = tessera.nd.array(np.ones((2, 3), "float32")), tessera.nd.empty((2, 3))
    with pytest.raises(ValueError, match="takes 1 tensors and gives 1; it was called with 1"):
        call(x)
    with pytest.raises(ValueError, match=r"argument 1 has to be a row-major tensor on the CPU, \(2, 3\) float32"):
        call(x, tessera.nd.empty((3, 2)))
    with pytest.raises(ValueError, match="argument 0 has to be"):
        call(tessera.nd.array(np.ones((2, 3), "float64")), out)
    late = code(weight=np.ones((4, 3), "float32"))
    with pytest.raises(RuntimeError, match="has no constants yet; call __init_f"):
        late["f"](x, tessera.nd.empty((2, 4)))
    with pytest.raises(ValueError, match="takes 1 constants, not 0"):
        late["__init_f"]([])
    with pytest.raises(ValueError, match=r"the constant f_const_0 is \(3, 4\) float32, not \(4, 3\) float32"):
        late["__init_f"]([tessera.nd.empty((3, 4))])


@pytest.mark.skipif(not dnnl.is_dnnl_available(), reason="oneDNN is not there: apt install libdnnl2")
@pytest.mark.parametrize(
    "change, message",
    [
        (lambda g: g["nodes"][1].update(name="nn.odd"), "the operator nn.odd is unknown"),
        (lambda g: g["nodes"][1].update(name="nn.conv2d"), "has only 1 inputs"),
        (lambda g: g["nodes"][1].update(name="nn.max_pool2d"), "of 2 dimensions"),
        (lambda g: g["nodes"][1].update(inputs=[]), "has only 0 inputs"),
        (lambda g: g["nodes"][1].update(name="add", inputs=[[0, 0, 0]]), "has only 1 inputs"),
        (
            lambda g: g["nodes"][1].update(name="clip") or g["nodes"][1]["attrs"].update(a_min=[["x"]]),
            "which is no number",
        ),
        (lambda g: g["nodes"][1].update(name="nn.dense", inputs=[[0, 0, 0]] * 2), "gives another shape"),
        (
            lambda g: g["nodes"][1]["attrs"].update(shape=[[[2, 3]] * 2], dtype=[["float32"] * 2]),
            "gives several tensors",
        ),
    ],
)
def test_a_node_that_the_library_cannot_run_is_an_error(change, message):
    module = CREATE("f", broken(change), [])
    with pytest.raises(ValueError, match=message):
        module["f"](tessera.nd.array(np.ones((2, 3), "float32")), tessera.nd.empty((2, 3)))
