"""The debug executor: times and values of nodes, its folder of files, and its report."""

import json
import os
import re
import time
import warnings

import numpy as np
import pytest
import tessera as tvm
from tessera import relay, te
from tessera.contrib import graph_executor
from tessera.contrib.debugger import debug_executor
from tessera.runtime.profiling import Count, MetricCollector, Report

N = 4
SLEEP = 2e-3


@tvm.register_func("test.debug.slow_add")
def slow_add(x, out):
    time.sleep(SLEEP)
    out.copyfrom(x.numpy() + 1)


@pytest.fixture(scope="module")
def library():
    """myadd(x) = x + 1, which sleeps for a while first."""
    x = te.placeholder((N,), name="x")
    y = te.extern((N,), [x], lambda ins, outs: tvm.tir.call_packed("test.debug.slow_add", ins[0], outs[0]), name="y")
    return tvm.build(te.create_schedule(y.op), [x, y], "llvm", name="myadd")


def node(name, source):
    attrs = {"func_name": "myadd", "flatten_data": "0", "num_inputs": "1", "num_outputs": "1", "hash": "abc"}
    return {"op": "tvm_op", "name": name, "inputs": [[source, 0, 0]], "attrs": attrs}


def graph_of(adds):
    """A chain of additions in which every second one shares its memory."""
    count = adds + 1
    return json.dumps(
        {
            "nodes": [{"op": "null", "name": "x", "inputs": []}, *(node(f"add{i}", i) for i in range(adds))],
            "arg_nodes": [0],
            "node_row_ptr": list(range(count + 1)),
            "heads": [[adds, 0, 0]],
            "attrs": {
                "shape": ["list_shape", [[N]] * count],
                "dltype": ["list_str", ["float32"] * count],
                "storage_id": ["list_int", [0] + [1 + i % 2 for i in range(adds)]],
            },
        }
    )


X = np.arange(N, dtype="float32")


@pytest.fixture
def debug(library, tmp_path):
    module = debug_executor.create(graph_of(3), library, tvm.cpu(), dump_root=str(tmp_path / "root"))
    module.set_input(x=X)
    return module


def test_the_graph_is_written_at_once_and_the_rest_by_a_run(debug, tmp_path, capsys):
    folder = tmp_path / "root" / "_tvmdbg_device_CPU_0"
    assert os.listdir(folder) == ["_tvmdbg_graph_dump.json"]
    dumped = json.loads((folder / "_tvmdbg_graph_dump.json").read_text())
    assert set(dumped) == {"nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"}

    debug.run(number=1, min_repeat_ms=0)
    lines = [re.split(r"  [ ]*", line)[:-1] for line in debug.debug_datum.get_debug_result().split("\n")]
    assert " ".join(lines[0]) == "Node Name Ops Time(us) Time(%) Shape Inputs Outputs Measurements(us)"
    assert lines[2][1] == "myadd" and lines[2][4:7] == ["(4,)", "1", "1"]
    assert sorted(line[0] for line in lines[2:5]) == ["add0", "add1", "add2"]
    assert float(lines[2][2]) >= float(lines[3][2]) > SLEEP * 1e6
    assert lines[5][0] == "Total_time"
    assert float(lines[5][2]) == pytest.approx(sum(float(line[2]) for line in lines[2:5]), abs=0.1)
    assert "Total_time" in capsys.readouterr().out

    trace = json.loads((folder / "_tvmdbg_execution_trace.json").read_text())
    assert trace["displayTimeUnit"] == "ns"
    assert [(e["name"], e["ph"]) for e in trace["traceEvents"][:4]] == [
        ("x", "B"),
        ("x", "E"),
        ("add0", "B"),
        ("add0", "E"),
    ]
    assert all(e["pid"] == e["tid"] == 1 for e in trace["traceEvents"]) and len(trace["traceEvents"]) == 8
    stamps = [e["ts"] for e in trace["traceEvents"]]
    assert stamps[0] == 0 and stamps == sorted(stamps)

    tensors = tvm.runtime.load_param_dict((folder / "output_tensors.params").read_bytes())
    values = {name: tensor.numpy() for name, tensor in tensors.items()}
    for i in range(3):  # also where a later node took over the memory
        np.testing.assert_array_equal(values[f"add{i}____topo-index:{i + 1}____output-num:0"], X + 1 + i)
    np.testing.assert_array_equal(debug.get_output(0).numpy(), X + 3)
    debug.exit()
    assert not (tmp_path / "root").exists()


def test_without_a_dump_root_a_temporary_folder_is_used(library):
    module = debug_executor.create(graph_of(1), library, tvm.cpu())
    root = module._dump_root
    assert os.path.basename(root).startswith("tvmdbg_") and os.path.isdir(root)
    module.exit()
    assert not os.path.exists(root)


def test_nodes_are_described_as_the_debugger_knows_them(debug):
    nodes = debug.debug_datum.get_graph_nodes()
    assert [n["op"] for n in nodes] == ["param", "myadd", "myadd", "myadd"]
    assert nodes[2]["inputs"] == ["add0"] and nodes[2]["shape"] == [N]
    assert nodes[2]["attrs"]["T"] == "type: float32"


def test_one_node_is_measured_alone(debug):
    assert debug.run_individual_node(0, number=1).mean == 0
    one = debug.run_individual_node(1, number=2, repeat=1)
    assert SLEEP <= one.mean < 20 * SLEEP
    assert len(debug.run_individual_node(1, number=1, repeat=5).results) == 5
    start = time.time()
    debug.run_individual_node(1, number=1, min_repeat_ms=50)
    assert time.time() - start > 50e-3
    with pytest.raises(IndexError, match="node 9 of a graph that has 4"):
        debug.run_individual_node(9)
    with pytest.raises(ValueError, match="number and repeat are at least 1"):
        debug.run_individual_node(1, number=0)


def test_all_nodes_are_measured(debug):
    times = debug.run_individual(number=1, repeat=2)
    assert [len(t) for t in times] == [2] * 4
    assert times[0] == [0.0, 0.0] and all(t > SLEEP for row in times[1:] for t in row)


def test_the_output_of_a_node_is_asked_for_by_number_or_name(debug):
    np.testing.assert_array_equal(debug.debug_get_output(2).numpy(), X + 2)
    out = debug.debug_get_output("add0", tvm.nd.empty((N,)))
    np.testing.assert_array_equal(out.numpy(), X + 1)
    packed = tvm.nd.empty((N,))
    debug.module["debug_get_output"](3, packed)
    np.testing.assert_array_equal(packed.numpy(), X + 3)
    debug.set_input(x=X * 2)
    np.testing.assert_array_equal(debug.debug_get_output("add0").numpy(), X * 2 + 1)
    with pytest.raises(AttributeError, match="Could not find a node named nothing"):
        debug.debug_get_output("nothing")
    with pytest.raises(IndexError, match="output 1 of node add0, which has 1"):
        debug.module["get_node_output"](1, 1)


class Calls(MetricCollector):
    def __init__(self):
        self.number = 0

    def start_call(self, device):
        self.number += 1
        return self.number

    def stop_call(self, started):
        return {"Number": Count(started)}


def test_a_profile_reports_every_call(debug):
    report = debug.profile(x=X)
    assert isinstance(report, Report) and len(report.calls) == 3
    call = report.calls[0]
    assert call["Name"] == "myadd" and call["Hash"] == "abc" and call["Device"] == "cpu0"
    assert call["Argument Shapes"] == "float32[4], float32[4]"
    assert call["Duration (us)"].microseconds > SLEEP * 1e6
    total = report.device_metrics["cpu0"]["Duration (us)"].microseconds
    assert sum(c["Duration (us)"].microseconds for c in report.calls) <= total
    assert sum(c["Percent"].percent for c in report.calls) <= 100.0001
    assert report.configuration["Executor"] == "Graph" and report.configuration["Number of threads"].value >= 1
    assert "Total" in str(report) and "Number of threads" in str(report)
    assert Report.from_json(debug.module["profile_rpc"]()).calls[0]["Name"] == "myadd"


def test_a_profile_shows_what_collectors_count(debug):
    report = debug.profile(collectors=[Calls()])
    assert [call["Number"].value for call in report.calls] == [2, 3, 4]  # the whole run came first
    assert report.device_metrics["cpu0"]["Number"].value == 1


@pytest.fixture(scope="module")
def model():
    x = relay.var("x", shape=(2, 3), dtype="float32")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.softmax(x) - relay.const(0.3))))
    return relay.build(mod, target="llvm")


def test_a_built_model_is_debugged_by_its_factory(model):
    module = debug_executor.GraphModuleDebug(
        model["debug_create"]("default", tvm.cpu()), [tvm.cpu()], model.get_graph_json(), None
    )
    data = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    plain = graph_executor.GraphModule(model["default"](tvm.cpu()))
    plain.run(x=data)
    module.run(x=data, number=1, min_repeat_ms=0)
    np.testing.assert_array_equal(module.get_output(0).numpy(), plain.get_output(0).numpy())
    calls = module.profile().calls
    assert any("softmax" in call["Name"] for call in calls) and all(len(call["Hash"]) == 16 for call in calls)
    module.exit()
    with pytest.raises(ValueError, match='holds the model "default", not "other"'):
        model["debug_create"]("other", tvm.cpu())


def test_the_old_name_of_the_executor_works_and_warns(model):
    from tessera.contrib import graph_runtime

    with pytest.warns(DeprecationWarning, match="graph_executor"):
        module = graph_runtime.GraphModule(model["default"](tvm.cpu()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert module.get_num_outputs() == 1
