"""Each operator of the table, by random calls of its record: every executor and level gives what NumPy gives."""

import pytest
import tessera
from random_graphs import CASES, NEEDS_EXTENTS, compare, function_with_dynamic_extents, run, single, variants
from tessera import relay
from tessera.contrib.debugger import debug_executor

RECORDS = sorted(str(name) for name in tessera.ir.Op.list_op_names() if not str(name).startswith(("tir.", "test.")))

WITHOUT_CASE = {
    "annotation.with_funcid": "marks functions, which are no tensors",
    "call_lowered": "calls functions; v0_10/test_small_behaviours.py has its types",
    **{
        f"contrib.ethosu.{name}": "a name of v0.10's generator of code for Ethos-U"
        for name in ("binary_elementwise", "conv2d", "depthwise_conv2d", "identity", "pooling", "unary_elementwise")
    },
    "memory.alloc_storage": "made by the compiler of the virtual machine, which every run on it executes",
    "memory.alloc_tensor": "made by the compiler of the virtual machine, which every run on it executes",
    "memory.kill": "made by the compiler of the virtual machine, and removed again",
    "nn.contrib_conv2d_winograd_nnpack_weight_transform": "its weight is read by nothing; test_transformed_weights.py",
    "parser.MetaRef": "stands for an object while a text is read",
    "vm.invoke_tvm_op": "made by the compiler of the virtual machine, which every run on it executes",
    "vm.reshape_tensor": "made by the compiler of the virtual machine, which runs of dynamic shapes execute",
    "vm.shape_of": "made by the compiler of the virtual machine, which runs of dynamic shapes execute",
}


def test_every_record_has_a_case_or_a_reason():
    assert set(WITHOUT_CASE) == set(RECORDS) - set(CASES)
    assert set(CASES) <= set(RECORDS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_case_of_a_record_calls_it(name):
    function, _ = (graph := single(name, 0)).function(graph.results())
    names = []
    note = lambda node: names.append(node.op.name) if isinstance(getattr(node, "op", None), tessera.ir.Op) else None
    relay.analysis.post_order_visit(function, note)
    assert name in names


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_record_with_dynamic_extents(name):
    graph = single(name, 0)
    for node in graph.nodes:
        node.is_constant = node.is_constant and not node.is_index
    results = graph.results()
    function, inputs = function_with_dynamic_extents(graph, results, 1.0)
    compute = lambda: run(function, inputs, executor="vm", opt_level=3)
    if name in NEEDS_EXTENTS:
        with pytest.raises((tessera.TVMError, NotImplementedError), match=NEEDS_EXTENTS[name]):
            compute()
        return
    for i, got in zip(results, compute()):
        compare(got, graph.nodes[i].value, graph.nodes[i].slack)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_record_by_more_calls(name):
    for seed in range(1, 12):
        graph = single(name, seed)
        for how in variants(graph):
            graph.check(**how)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_record_on_every_executor(name):
    graph = single(name, 0)
    for executor in ("graph", "vm", "debug"):
        for opt_level in (0, 3):
            graph.check(executor=executor, opt_level=opt_level)
    if not any(graph.nodes[i].needs_vm for i in graph.results()):
        on_debug_executor(graph)


def on_debug_executor(graph):
    results = graph.results()
    function, inputs = graph.function(results)
    library = relay.build(tessera.IRModule.from_expr(function), target="llvm")
    module = debug_executor.create(library.get_graph_json(), library.get_lib(), tessera.cpu())
    try:
        module.set_input(**library.get_params(), **inputs)
        for node in range(len(module.debug_datum.get_graph_nodes())):
            module._execute_node(node)
        for at, i in enumerate(results):
            compare(module.get_output(at).numpy(), graph.nodes[i].value, graph.nodes[i].slack)
    finally:
        module.exit()
