"""What an executor costs for each node, beside the kernels."""

import time

import numpy as np
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.runtime.vm import VirtualMachine

NODES = 300


def chain(size):
    x = y = relay.var("x", shape=(size,), dtype="float32")
    for _ in range(NODES):
        y = relay.add(y, relay.const(1.0))
    return tvm.IRModule.from_expr(relay.Function([x], y))


def seconds_a_node(run):
    best = float("inf")
    for _ in range(200):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best / NODES


def test_a_node_of_a_graph_costs_less_than_a_microsecond():
    with tvm.transform.PassContext(opt_level=0):
        lib = relay.build(chain(16), "llvm")
    graph = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    graph.run(x=np.zeros(16, "float32"))
    np.testing.assert_array_equal(graph.get_output(0).numpy(), np.full(16, NODES, "float32"))
    assert seconds_a_node(graph._run) < 1e-6


def test_a_node_on_the_virtual_machine_costs_less_than_a_microsecond_whatever_the_sizes():
    with tvm.transform.PassContext(opt_level=0):
        executable = relay.vm.compile(chain(relay.Any()), "llvm")
    machine = VirtualMachine(executable, tvm.cpu())
    for size in (16, 5, 16, 5, 16):
        out = machine.run(tvm.nd.array(np.zeros(size, "float32")))
        np.testing.assert_array_equal(out.numpy(), np.full(size, NODES, "float32"))
    data = tvm.nd.array(np.zeros(16, "float32"))
    assert seconds_a_node(lambda: machine.run(data)) < 1e-6
