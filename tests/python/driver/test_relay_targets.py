"""Models on every target: GPU rules of blocks run by OpenCL, sources for CUDA, C compiled by the system's compiler."""

import shutil

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor, nvcc
from tessera.relay import testing

needs_opencl = pytest.mark.skipif(not tvm.opencl(0).exist, reason="no OpenCL device; pocl-opencl-icd is one")
needs_cc = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler")

MODELS = {
    "mlp": lambda: testing.mlp.get_workload(batch_size=2),
    "synthetic": lambda: testing.synthetic.get_workload(),
    "dqn": lambda: testing.dqn.get_workload(batch_size=1, image_shape=(4, 44, 44)),
}


def build(mod, params, target):
    with tvm.transform.PassContext(opt_level=3):
        return relay.build(mod, target, params=params)


def inputs_of(mod, params):
    rng = np.random.default_rng(7)
    main = relay.transform.InferType()(mod)["main"]
    free = [param for param in main.params if param.name_hint not in params]
    return {
        param.name_hint: rng.random([int(n) for n in param.checked_type.shape]).astype(param.checked_type.dtype)
        for param in free
    }


def outputs(factory, device, values):
    module = graph_executor.GraphModule(factory["default"](device))
    for name, value in values.items():
        module.set_input(name, value)
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def same_on_opencl(mod, params=None):
    params = params or {}
    values = inputs_of(mod, params)
    want = outputs(build(mod, params, "llvm"), tvm.cpu(), values)
    got = outputs(build(mod, params, "opencl"), tvm.opencl(), values)
    for one, other in zip(got, want):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@needs_opencl
@pytest.mark.parametrize("name", sorted(MODELS))
def test_opencl_computes_models_as_the_cpu_does(name):
    same_on_opencl(*MODELS[name]())


def function(body, *params):
    return tvm.IRModule.from_expr(relay.Function(list(params), body))


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


X = var("x", 3, 20, 7)
PROGRAMS = {
    "scalar": function(relay.sum(X), X),
    "few long rows": function(relay.sum(var("r", 3, 500), axis=1)),
    "rows across the middle": function(relay.max(X, axis=1), X),
    "mean of a large tensor": function(relay.mean(var("m", 64, 100))),
    "argmax": function(relay.argmax(X, axis=2), X),
    "argmax of few": function(relay.argmax(var("f", 2, 300), axis=1)),
    "softmax": function(relay.nn.softmax(X), X),
    "log_softmax": function(relay.nn.log_softmax(var("l", 4, 10))),
    "many elements": function(relay.exp(var("e", 260, 256)) + relay.const(1.0)),
    "odd extents": function(relay.tanh(var("o", 997, 7))),
    "a prime": function(relay.tanh(var("q", 1009))),
    "transpose and slice": function(relay.strided_slice(relay.transpose(X, (2, 0, 1)), [1, 0, 2], [7, 3, 18]), X),
    "concatenate": function(relay.concatenate([X, relay.exp(X), X], axis=1), X),
    "split": function(relay.Tuple([*relay.split(X, 4, axis=1)]), X),
    "gather": function(relay.take(X, relay.const(np.array([2, 0], "int32")), axis=0), X),
    "max_pool": function(relay.nn.max_pool2d(var("p", 1, 3, 9, 9), (3, 3), (2, 2), padding=(1, 1))),
    "conv with bias": function(
        relay.nn.relu(relay.nn.conv2d(var("c", 1, 4, 9, 9), var("w", 6, 4, 3, 3), padding=(1, 1)) + var("b", 6, 1, 1))
    ),
    "depthwise conv": function(
        relay.nn.conv2d(var("d", 1, 4, 9, 9), var("dw", 4, 1, 3, 3), groups=4, channels=4, kernel_size=(3, 3))
    ),
    "batch_matmul": function(relay.nn.batch_matmul(var("s", 3, 5, 11), var("t", 3, 6, 11))),
    "layer_norm": function(relay.nn.layer_norm(var("n", 4, 12), var("g", 12), var("h", 12))),
    "loops of an operator's own": function(relay.cumsum(X, axis=1), X),
    "no dimensions": function(var("y") + relay.const(2.0)),
    "int64": function(var("i", 5, 6, dtype="int64") + relay.const(3, "int64")),
}


@needs_opencl
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_opencl_computes_operators_as_the_cpu_does(name):
    mod = PROGRAMS[name]
    if not mod["main"].params:
        mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(mod["main"].body), mod["main"].body))
    same_on_opencl(mod)


TIES = np.random.default_rng(3).integers(0, 9, (4, 700)).astype("float32")  # many are equal
SEARCHED = {
    "sort": lambda x: relay.sort(x, axis=0),
    "argsort": lambda x: relay.argsort(x, axis=1, dtype="int32"),
    "argsort downwards": lambda x: relay.argsort(x, axis=0, is_ascend=False, dtype="float32"),
    "topk": lambda x: relay.topk(x, 5, axis=1, dtype="int64").astuple(),
    "topk of values upwards": lambda x: relay.topk(x, 3, axis=0, ret_type="values", is_ascend=True),
    "unique": lambda x: relay.unique(relay.reshape(x, (-1,)), is_sorted=False, return_counts=True).astuple(),
    "unique in order": lambda x: relay.unique(relay.reshape(x, (-1,))).astuple(),
    "determinant": lambda x: relay.op.determinant(relay.reshape(x, (28, 10, 10))),
}


@needs_opencl
@pytest.mark.parametrize("name", sorted(SEARCHED))
def test_opencl_computes_as_the_cpu_does_what_needs_an_order(name):
    x = relay.var("x", shape=TIES.shape)
    mod = function(SEARCHED[name](x), x)
    want = outputs(build(mod, {}, "llvm"), tvm.cpu(), {"x": TIES})
    got = outputs(build(mod, {}, "opencl"), tvm.opencl(), {"x": TIES})
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one, other)


def test_a_function_of_the_host_cannot_be_called_by_threads_of_a_kernel():
    def body(ins, outs):
        ib = tvm.tir.ir_builder.create()
        with ib.for_range(0, 4, kind="parallel"):
            ib.emit(tvm.tir.call_packed("some.function", ins[0]))
        return ib.get()

    x = tvm.te.placeholder((4,), "float32", "x")
    out = tvm.te.extern((4,), [x], body, dtype="float32")
    with pytest.raises(NotImplementedError, match="calls some.function, which runs on the host"):
        tvm.get_global_func("topi.cpu.schedule_default")(tvm.te.create_prim_func([x, out]), tvm.target.Target("opencl"))


def test_a_kernel_of_a_reduction_takes_its_element_wise_reader_along():
    body = relay.nn.relu(relay.nn.conv2d(var("c", 1, 8, 32, 32), var("w", 16, 8, 3, 3)))
    lib = build(tvm.IRModule.from_expr(body), {}, "opencl")
    assert lib.get_lib().imported_modules[0].get_source().count("__kernel") == 1


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_cuda_source_of_models_compiles(name):
    lib = build(*MODELS[name](), "cuda -arch=sm_80")
    source = lib.get_lib().imported_modules[0].get_source()
    assert source.count("__global__") >= 3
    try:
        ptx = nvcc.compile_in_process(source, "sm_80")
    except RuntimeError as error:
        pytest.skip(f"no CUDA compiler: {error}")
    assert ptx.decode().count(".visible .entry") == source.count("__global__")


@needs_cc
@pytest.mark.parametrize("name", ["mlp", "synthetic"])
def test_the_c_source_of_models_runs(name, tmp_path):
    mod, params = MODELS[name]()
    values = inputs_of(mod, params)
    lib = build(mod, params, "c")
    assert lib.get_lib().type_key == "c"
    path = str(tmp_path / "model.so")
    lib.export_library(path)
    got = outputs(tvm.runtime.load_module(path), tvm.cpu(), values)
    want = outputs(build(mod, params, "llvm"), tvm.cpu(), values)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)
