"""The graph executor on graphs written by hand: values, memory, and graphs that were tampered with."""

import copy
import json

import numpy as np
import pytest
import tessera
from tessera import te
from tessera.contrib import graph_executor

N = 8


@pytest.fixture(scope="module")
def library():
    """scale(x, w) = x * w and shift(x) = x + 1."""
    x, w = te.placeholder((N,), name="x"), te.placeholder((N,), name="w")
    scale = te.compute((N,), lambda i: x[i] * w[i], name="scale")
    shift = te.compute((N,), lambda i: x[i] + 1.0, name="shift")
    functions = {
        "scale": tessera.lower(te.create_schedule(scale.op), [x, w, scale], name="scale")["scale"],
        "shift": tessera.lower(te.create_schedule(shift.op), [x, shift], name="shift")["shift"],
    }
    return tessera.build(tessera.IRModule(functions), target="llvm")


def call(function, name, *inputs):
    attrs = {"func_name": function, "num_outputs": "1", "num_inputs": str(len(inputs)), "flatten_data": "0"}
    return {"op": "tvm_op", "name": name, "attrs": attrs, "inputs": [[i, 0, 0] for i in inputs]}


GRAPH = {
    "nodes": [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "null", "name": "w", "inputs": []},
        call("scale", "scale", 0, 1),
        call("shift", "shift", 2),
        call("shift", "shift_1", 3),
    ],
    "arg_nodes": [0, 1],
    "heads": [[4, 0, 0]],
    "attrs": {
        "dltype": ["list_str", ["float32"] * 5],
        "shape": ["list_shape", [[N]] * 5],
        "storage_id": ["list_int", [0, 1, 2, 3, 2]],
    },
    "node_row_ptr": [0, 1, 2, 3, 4, 5],
}

X, W = np.arange(N, dtype="float32"), np.full(N, 3, dtype="float32")


def test_a_graph_runs_and_runs_again(library):
    graph = graph_executor.create(json.dumps(GRAPH), library, tessera.cpu())
    for shift in (0, 5):
        graph.run(x=X + shift, w=W, unknown=W)
        np.testing.assert_array_equal(graph.get_output(0).numpy(), (X + shift) * W + 2)
    assert graph.get_num_inputs() == 2 and graph.get_num_outputs() == 1
    assert graph.get_input_index("w") == 1 and graph.get_input_index("none") == -1
    np.testing.assert_array_equal(graph.get_input("w").numpy(), W)
    out = tessera.nd.empty((N,))
    assert graph.get_output(0, out) is out
    np.testing.assert_array_equal(out.numpy(), (X + 5) * W + 2)


def test_parameters_are_loaded_and_shared(library):
    blob = tessera.runtime.save_param_dict({"w": tessera.nd.array(W)})
    first = graph_executor.create(json.dumps(GRAPH), library, tessera.cpu())
    first.load_params(blob)
    second = graph_executor.create(json.dumps(GRAPH), library, tessera.cpu())
    second.share_params(first, blob)
    second.run(x=X)
    np.testing.assert_array_equal(second.get_output(0).numpy(), X * W + 2)
    shapes, dtypes = second.get_input_info()
    assert list(shapes) == ["x"] and dict(dtypes) == {"x": "float32"}


def factory(library, **params):
    named = [part for name, value in params.items() for part in (name, tessera.nd.array(value))]
    return tessera.get_global_func("tvm.graph_executor_factory.create")(json.dumps(GRAPH), library, "default", *named)


def test_executors_of_one_factory_share_parameters_until_one_sets_its_own(library):
    lib = factory(library, w=W)
    first, second = (graph_executor.GraphModule(lib["default"](tessera.cpu())) for _ in range(2))
    second.set_input("w", W * 2)
    first.run(x=X)
    second.run(x=X)
    np.testing.assert_array_equal(first.get_output(0).numpy(), X * W + 2)
    np.testing.assert_array_equal(second.get_output(0).numpy(), X * W * 2 + 2)


def test_a_factory_is_one_file(library, tmp_path):
    path = str(tmp_path / "net.so")
    factory(library, w=W).export_library(path)
    graph = graph_executor.GraphModule(tessera.runtime.load_module(path)["default"](tessera.cpu()))
    graph.run(x=X)
    np.testing.assert_array_equal(graph.get_output(0).numpy(), X * W + 2)


def test_memory_of_the_caller_is_used_without_a_copy(library):
    graph = graph_executor.create(json.dumps(GRAPH), library, tessera.cpu())
    given, taken = tessera.nd.array(X), tessera.nd.empty((N,))
    graph.set_input("w", W)
    graph["set_input_zero_copy"]("x", given)
    graph["set_output_zero_copy"](0, taken)
    graph.run()
    np.testing.assert_array_equal(taken.numpy(), X * W + 2)
    given.copyfrom(X * 2)
    graph.run()
    np.testing.assert_array_equal(taken.numpy(), X * 2 * W + 2)


def renaming_graph():
    """Values that are others in another shape: x as y, a result as z; x, y, the result and z are outputs."""
    graph = copy.deepcopy(GRAPH)
    graph["nodes"] = [
        {"op": "null", "name": "x", "inputs": []},
        call("__nop", "y", 0),
        call("shift", "shift", 1),
        call("__nop", "z", 2),
        call("shift", "shift_1", 3),
    ]
    graph["nodes"][4]["attrs"]["flatten_data"] = "1"
    graph["arg_nodes"] = [0]
    graph["heads"] = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0]]
    graph["attrs"]["storage_id"] = ["list_int", [0, 0, 1, 1, 2]]
    graph["attrs"]["shape"] = ["list_shape", [[2, N // 2], [N], [N], [2, N // 2], [N]]]
    return json.dumps(graph)


@pytest.mark.parametrize("outputs", [[], [0], [1], [2], [3], [4], [3, 2], [2, 3], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("lends_input", [False, True])
def test_memory_of_the_caller_stands_for_all_names_of_a_value(library, outputs, lends_input):
    graph = graph_executor.create(renaming_graph(), library, tessera.cpu())
    square = X.reshape(2, N // 2)
    given = tessera.nd.array(square)
    if lends_input:
        graph["set_input_zero_copy"]("x", given)
    else:
        graph.set_input("x", square)
    want = [square, X, X + 1, square + 1, X + 2]
    taken = {i: tessera.nd.empty(want[i].shape) for i in outputs}
    for i, memory in taken.items():
        graph["set_output_zero_copy"](i, memory)
    for factor in (1, 2):
        if factor == 2:  # and back in the executor's own memory
            graph.set_input("x", square * 2)
            want = [square * 2, X * 2, X * 2 + 1, square * 2 + 1, X * 2 + 2]
        graph.run()
        for i in range(5):
            got = taken[i] if i in taken else graph.get_output(i)
            np.testing.assert_array_equal(got.numpy(), want[i])


def test_results_of_a_model_belong_to_the_caller_and_inputs_stay_as_they_are():
    from tessera import relay

    x, y = relay.var("x", shape=(4, 6)), relay.var("y", shape=(24,))
    body = relay.Tuple([relay.reshape(x, (24,)), relay.nn.relu(x), relay.add(relay.reshape(x, (24,)), y), y])
    model = tessera.Model(relay.build(tessera.IRModule.from_expr(relay.Function([x, y], body)), "llvm"))
    rng = np.random.default_rng(0)
    whole = rng.standard_normal(24 * 4 + 1, "float32")
    kept = []
    for _ in range(3):
        a, b = rng.standard_normal((4, 6), "float32"), rng.standard_normal(24, "float32")
        given = tessera.nd.array(a)
        results = model.run(given, b)
        np.testing.assert_array_equal(given.numpy(), a)
        kept.append((results, [a.ravel(), np.maximum(a, 0), a.ravel() + b, b]))
    results = model.run(whole[1:25].reshape(4, 6), results[3])  # memory that is not aligned, and a result
    kept.append((results, [whole[1:25], np.maximum(whole[1:25].reshape(4, 6), 0), whole[1:25] + b, b]))
    for results, want in kept:
        for one, wanted in zip(results, want):
            np.testing.assert_array_equal(one.numpy(), wanted)


def test_benchmark_times_a_run(library):
    graph = graph_executor.create(json.dumps(GRAPH), library, tessera.cpu())
    assert graph.benchmark(tessera.cpu(), repeat=2, number=3, x=X, w=W).mean > 0
    assert graph.benchmark(tessera.cpu(), repeat=2, number=3, end_to_end=True, x=X, w=W).mean > 0


@pytest.mark.parametrize(
    "value, message",
    [
        (np.zeros(N + 1, "float32"), r"input x is \(8,\) float32"),
        (tessera.nd.array(np.zeros(N, "float64")), r"input x is \(8,\) float32"),  # an array of NumPy is converted
    ],
)
def test_an_input_that_does_not_fit_is_rejected(library, value, message):
    graph = graph_executor.create(json.dumps(GRAPH), library, tessera.cpu())
    with pytest.raises(ValueError, match=message):
        graph.set_input("x", value)
    with pytest.raises(ValueError, match='no input "y"'):
        graph.set_input("y", X)
    with pytest.raises(IndexError, match="output 1 of a graph that has 1"):
        graph.get_output(1)


def tampered(change):
    graph = copy.deepcopy(GRAPH)
    change(graph)
    return json.dumps(graph)


BAD_GRAPHS = {
    "no text": "",
    "cut short": json.dumps(GRAPH)[:100],
    "a list": "[]",
    "later node": tampered(lambda g: g["nodes"][2].update(inputs=[[4, 0, 0], [1, 0, 0]])),
    "no such output": tampered(lambda g: g["heads"].append([4, 1, 0])),
    "no such node": tampered(lambda g: g["heads"].append([99, 0, 0])),
    "negative node": tampered(lambda g: g["heads"].append([-1, 0, 0])),
    "argument that calls": tampered(lambda g: g["arg_nodes"].append(3)),
    "short list": tampered(lambda g: g["attrs"]["shape"][1].pop()),
    "negative extent": tampered(lambda g: g["attrs"]["shape"][1].__setitem__(0, [-8])),
    "endless extent": tampered(lambda g: g["attrs"]["shape"][1].__setitem__(0, [2**62, 2**62])),
    "wrong storage": tampered(lambda g: g["attrs"]["storage_id"][1].__setitem__(0, 10**9)),
    "wrong type": tampered(lambda g: g["attrs"]["dltype"][1].__setitem__(0, "float33x")),
    "unknown op": tampered(lambda g: g["nodes"][2].update(op="exec")),
    "unknown function": tampered(lambda g: g["nodes"][2]["attrs"].update(func_name="system")),
    "many outputs": tampered(lambda g: g["nodes"][2]["attrs"].update(num_outputs="99999999999")),
    "no attrs": tampered(lambda g: g.pop("attrs")),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_a_graph_that_was_tampered_with_is_rejected(library, name):
    with pytest.raises((ValueError, tessera.TVMError)):
        graph_executor.create(BAD_GRAPHS[name], library, tessera.cpu())
