"""Results over arguments: where a kernel may write over what it reads, and what a model's plan then needs."""

import json

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.script import tir as T
from tessera.testing.graph_memory import graph_memory

LARGE = (1, 64, 64, 64)


def build(outputs, *inputs, opt_level=0, params=None):
    mod = tvm.IRModule.from_expr(relay.Function(list(inputs), outputs))
    with tvm.transform.PassContext(opt_level=opt_level):
        return relay.build(mod, target="llvm", params=params)


def plan_of(lib):
    """The storage of each node that computes, by name."""
    graph = json.loads(lib.get_graph_json())
    storages, rows = graph["attrs"]["storage_id"][1], graph["node_row_ptr"]
    return {n["name"]: storages[rows[i]] for i, n in enumerate(graph["nodes"]) if n["op"] != "null"}


def run(lib, **inputs):
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.run(**inputs)
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def variable(name, shape=LARGE):
    return relay.var(name, shape=shape, dtype="float32")


def data(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1.0, shape or LARGE).astype("float32")


def test_a_chain_of_element_wise_kernels_works_in_one_place():
    x = variable("x")
    lib = build(relay.exp(relay.sqrt(relay.log(relay.add(relay.exp(x), relay.const(3.0))))), x)
    assert len(set(plan_of(lib).values())) == 1
    given = data()
    for _ in range(2):  # the input is not written over
        np.testing.assert_allclose(run(lib, x=given)[0], np.exp(np.sqrt(np.log(np.exp(given) + 3))), rtol=1e-5)


def test_a_value_that_is_read_later_is_kept():
    x = variable("x")
    a = relay.exp(x)
    lib = build(relay.add(relay.sqrt(relay.log(a)), a), x)
    plan = plan_of(lib)
    assert plan["tvmgen_default_fused_log"] != plan["tvmgen_default_fused_exp"]
    given = data() + 1
    np.testing.assert_allclose(run(lib, x=given)[0], np.sqrt(given) + np.exp(given), rtol=1e-5)


def test_a_tensor_that_a_kernel_reads_twice_is_kept():
    # fused: exp(a) at its element, and transposed at another
    x = variable("x", (256, 256))
    a = relay.exp(x)
    lib = build(relay.add(relay.sqrt(a), relay.transpose(a)), x, opt_level=3)
    given = data(256, 256)
    np.testing.assert_allclose(run(lib, x=given)[0], np.sqrt(np.exp(given)) + np.exp(given).T, rtol=1e-5)


@pytest.mark.parametrize("opt_level", [0, 3])
def test_a_residual_is_added_in_place(opt_level):
    shape = (1, 16, 64, 64)
    x, w = variable("x", shape), variable("w", (16, 16, 3, 3))
    a = relay.nn.relu(x)
    b = relay.nn.relu(relay.add(relay.nn.conv2d(a, w, padding=(1, 1)), a))
    c = relay.nn.relu(relay.add(relay.nn.conv2d(b, w, padding=(1, 1)), b))
    lib = build(c, x, w, opt_level=opt_level)
    given, weight = data(*shape) - 0.5, data(16, 16, 3, 3, seed=1) - 0.5
    plain = run(build(c, x, w, opt_level=0), x=given, w=weight)[0]
    np.testing.assert_allclose(run(lib, x=given, w=weight)[0], plain, rtol=1e-4, atol=1e-4)
    storages = list(plan_of(lib).values())
    assert len(set(storages)) < len(storages)


def test_inputs_parameters_and_results_are_not_written_over():
    x, w = variable("x"), variable("w")
    a = relay.add(x, w)
    lib = build(relay.Tuple([a, relay.exp(a), relay.sqrt(a)]), x, w, params={"w": data(seed=3)})
    given = data()
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input(x=given)
    for _ in range(3):
        module.run()
        total = given + data(seed=3)
        for got, wanted in zip(range(3), [total, np.exp(total), np.sqrt(total)]):
            np.testing.assert_allclose(module.get_output(got).numpy(), wanted, rtol=1e-5)


def pairs(function):
    return [tuple(pair) for pair in tvm.get_global_func("relay.backend.find_in_place")(function)]


def test_element_wise_programs_are_found():
    @T.prim_func
    def program(A: T.Buffer[(8, 16), "float32"], W: T.Buffer[(16,), "float32"], C: T.Buffer[(8, 16), "float32"]):
        for i, j in T.grid(8, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * W[vj] + A[vi, vj]

    assert pairs(program) == [(0, 2)]
    sch = tvm.tir.Schedule(program)
    i, j = sch.get_loops("C")
    _, inner = sch.split(j, [None, 5])
    sch.vectorize(inner)
    sch.parallel(i)
    assert pairs(sch.mod["main"]) == [(0, 2)]


def test_programs_that_read_other_elements_are_not():
    @T.prim_func
    def mirrored(A: T.Buffer[(8,), "float32"], C: T.Buffer[(8,), "float32"]):
        for i in range(8):
            with T.block("C"):
                vi = T.axis.S(8, i)
                C[vi] = A[7 - vi] + A[vi]

    @T.prim_func
    def summed(A: T.Buffer[(8,), "float32"], C: T.Buffer[(8,), "float32"]):
        for i, k in T.grid(8, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi]

    @T.prim_func
    def two_stages(A: T.Buffer[(8,), "float32"], B: T.Buffer[(8,), "float32"], C: T.Buffer[(8,), "float32"]):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.S(8, i)
                B[vi] = A[vi] + 1.0
        for i in range(8):
            with T.block("C"):
                vi = T.axis.S(8, i)
                C[vi] = A[vi] + 2.0

    @T.prim_func
    def repeated(A: T.Buffer[(8,), "float32"], C: T.Buffer[(8,), "float32"]):
        for _r, i in T.grid(2, 8):
            with T.block("C"):
                vi = T.axis.S(8, i)
                C[vi] = A[vi] * 2.0

    @T.prim_func
    def narrower(A: T.Buffer[(8,), "float32"], C: T.Buffer[(8,), "float16"]):
        for i in range(8):
            with T.block("C"):
                vi = T.axis.S(8, i)
                C[vi] = T.cast(A[vi], "float16")

    for program in (mirrored, summed, two_stages, repeated, narrower):
        assert pairs(program) == [], program


def test_a_first_stage_may_read_more_than_the_last_one_writes_over():
    @T.prim_func
    def program(A: T.Buffer[(8,), "float32"], R: T.Buffer[(8,), "float32"], C: T.Buffer[(8,), "float32"]):
        tmp = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("tmp"):
                vi = T.axis.S(8, i)
                tmp[vi] = A[7 - vi] + A[0]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.S(8, i)
                C[vi] = tmp[vi] + R[vi]

    assert pairs(program) == [(1, 2)]


def test_resnet50_needs_little_more_than_its_live_tensors():
    from tessera.relay import testing

    mod, params = testing.resnet.get_workload(num_layers=50)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    planned, live = graph_memory(lib.get_graph_json())
    assert planned <= 1.2 * live, f"{planned} bytes are planned, {live} are alive at once"
