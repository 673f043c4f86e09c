"""Kernels of cuBLASLt and cuDNN, and layouts for matrix units: answers on a device."""

import ml_dtypes
import numpy as np
import pytest
import tessera as tvm
from gpu_checks import random, rules, var
from tessera import relay
from tessera.contrib import graph_executor
from tessera.contrib.cuda_graph import cuda_graph_executor
from tessera.relay.op import contrib

on_cuda = [pytest.mark.gpu, pytest.mark.skipif(not tvm.cuda(0).exist, reason="no CUDA device")]
pytestmark = on_cuda
TARGET = "cuda -libs=cublas,cudnn"
NARROW = {"float32": (np.float32, 1e-5), "float16": (np.float16, 4e-3), "bfloat16": (ml_dtypes.bfloat16, 3e-2)}


def build(mod, target=TARGET, **config):
    with tvm.transform.PassContext(opt_level=3, config=config):
        return relay.build(mod, tvm.target.Target(target, host="llvm"))


def given_to_library(body, library):
    """A module whose operators are a library's, whatever they cost."""
    function = body if isinstance(body, relay.Function) else relay.Function(relay.analysis.free_vars(body), body)
    mod = tvm.IRModule.from_expr(function)
    return contrib.partition_for_cublas(mod) if library == "cublas" else contrib.partition_for_cudnn(mod)


def answer(lib, **inputs):
    module = graph_executor.GraphModule(lib["default"](tvm.cuda(0)))
    module.run(**inputs)
    return module.get_output(0).numpy()


def close(found, wanted, tolerance):
    wanted = wanted.astype("float64")
    assert np.linalg.norm(found.astype("float64") - wanted) <= tolerance * np.linalg.norm(wanted)


@pytest.mark.parametrize("dtype", NARROW)
def test_matmuls_of_every_type(dtype):
    kind, tolerance = NARROW[dtype]
    x, w = random(130, 96).astype(kind), random(72, 96).astype(kind)
    body = relay.nn.dense(var("x", 130, 96, dtype=dtype), var("w", 72, 96, dtype=dtype), out_dtype="float32")
    lib = build(given_to_library(body, "cublas"))
    assert rules(lib) == ["cublaslt"] or dtype == "bfloat16"  # v0.10's partition leaves bfloat16
    close(answer(lib, x=x, w=w), x.astype("float64") @ w.astype("float64").T, tolerance)


def test_int8_matmuls_are_exact():
    x, w = random(64, 128, dtype="int8"), random(32, 128, dtype="int8")
    body = relay.nn.dense(var("x", 64, 128, dtype="int8"), var("w", 32, 128, dtype="int8"), out_dtype="int32")
    lib = build(given_to_library(body, "cublas"))
    assert rules(lib) == ["cublaslt"]
    np.testing.assert_array_equal(answer(lib, x=x, w=w), x.astype("int32") @ w.astype("int32").T)


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_batches_stored_either_way(trans_a, trans_b):
    x, y = random(3, 40, 24), random(3, 24, 56)
    a = np.ascontiguousarray(x.swapaxes(1, 2)) if trans_a else x
    b = np.ascontiguousarray(y.swapaxes(1, 2)) if trans_b else y
    body = relay.nn.batch_matmul(var("a", *a.shape), var("b", *b.shape), transpose_a=trans_a, transpose_b=trans_b)
    lib = build(given_to_library(body, "cublas"))
    assert rules(lib) == ["cublaslt"]
    close(answer(lib, a=a, b=b), x @ y, 1e-5)


@pytest.mark.parametrize("measured", [False, True])
def test_a_layer_with_its_epilogue(measured):
    x, w, b = random(2048, 512), random(1024, 512), random(1024)
    body = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(var("x", 2048, 512), relay.const(w)), relay.const(b)))
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    lib = build(mod, **{"cuda.measure_kernels": measured})
    assert measured or rules(lib) == ["cublaslt"]
    close(answer(lib, x=x), np.maximum(x @ w.T + b, 0), 1e-5)


def convolved(x, w, strides=1, padding=0, groups=1):
    x = np.pad(x, [(0, 0), (0, 0), (padding,) * 2, (padding,) * 2]).astype("float64")
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::strides, ::strides]
    each, out = x.shape[1] // groups, w.shape[0] // groups
    parts = [
        np.einsum("nchwpq,ocpq->nohw", windows[:, g * each : (g + 1) * each], w[g * out : (g + 1) * out])
        for g in range(groups)
    ]
    return np.concatenate(parts, 1)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("measured", [False, True])
def test_convolutions_with_bias_residual_and_activation(dtype, layout, groups, measured):
    """By cost or by measurement, whichever kernel is chosen."""
    kind, tolerance = NARROW[dtype]
    x, w, b = random(4, 64, 15, 14).astype(kind), random(64, 64 // groups, 3, 3).astype(kind), random(64).astype(kind)
    is_last = layout == "NHWC"
    data = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if is_last else x
    weight = np.ascontiguousarray(np.moveaxis(w, 1, -1)) if is_last else w
    v = var("x", *data.shape, dtype=dtype)
    body = relay.nn.conv2d(
        v,
        relay.const(weight),
        padding=(1, 1),
        groups=groups,
        data_layout=layout,
        kernel_layout="OHWI" if is_last else "OIHW",
    )
    body = relay.nn.relu(relay.add(relay.nn.bias_add(body, relay.const(b), 3 if is_last else 1), v))
    lib = build(tvm.IRModule.from_expr(relay.Function([v], body)), **{"cuda.measure_kernels": measured})
    found = answer(lib, x=data)
    wanted = convolved(x, w.astype("float64"), 1, 1, groups) + b.astype("float64")[:, None, None] + x
    close(np.moveaxis(found, -1, 1) if is_last else found, np.maximum(wanted, 0), tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("is_relu", [False, True])
@pytest.mark.parametrize("groups", [1, 4])
def test_convolutions_by_cudnn(dtype, is_relu, groups):
    kind, tolerance = NARROW[dtype]
    x, w, b = random(2, 32, 17, 18).astype(kind), random(48, 32 // groups, 3, 3).astype(kind), random(48).astype(kind)
    body = relay.nn.conv2d(
        var("x", *x.shape, dtype=dtype), relay.const(w), padding=(1, 1), strides=(2, 2), groups=groups
    )
    body = relay.nn.bias_add(body, relay.const(b))
    mod = given_to_library(relay.nn.relu(body) if is_relu else body, "cudnn")
    lib = build(mod)
    wanted = convolved(x, w.astype("float64"), 2, 1, groups) + b.astype("float64")[:, None, None]
    assert dtype == "float16" or rules(lib) == ["cudnn"]
    close(answer(lib, x=x), np.maximum(wanted, 0) if is_relu else wanted, tolerance)


def test_softmax_by_cudnn():
    x = random(3, 5, 7)
    out = tvm.nd.array(np.zeros((3, 5, 7), "float32"), tvm.cuda(0))
    tvm.get_global_func("tvm.contrib.cudnn.softmax.forward")(tvm.nd.array(x, tvm.cuda(0)), out, 1)
    e = np.exp(x)
    np.testing.assert_allclose(out.numpy(), e / e.sum(1, keepdims=True), rtol=1e-5)
    tvm.get_global_func("tvm.contrib.cudnn.log_softmax.forward")(tvm.nd.array(x, tvm.cuda(0)), out, -1)
    np.testing.assert_allclose(out.numpy(), x - np.log(e.sum(-1, keepdims=True)), rtol=1e-4, atol=1e-5)


def test_libraries_are_recorded_in_cuda_graphs():
    x, w, k = random(8, 16, 12, 12), random(32, 16, 3, 3), random(10, 32 * 144)
    conv = relay.nn.conv2d(var("x", *x.shape), relay.const(w), padding=(1, 1))
    body = relay.nn.dense(relay.nn.batch_flatten(relay.nn.relu(conv)), relay.const(k))
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    lib = build(contrib.partition_for_cublas(contrib.partition_for_cudnn(mod)))
    assert sum("cu" in rule for rule in rules(lib)) == 2
    first = cuda_graph_executor.GraphModuleCudaGraph(lib["cuda_graph_create"](tvm.cuda(0)))
    other = cuda_graph_executor.GraphModuleCudaGraph(
        lib["cuda_graph_create"](tvm.cuda(0))
    )  # with workspaces of its own
    for seed in (1, 2):
        data = random(*x.shape, seed=seed)
        wanted = np.maximum(convolved(data, w, 1, 1), 0).reshape(8, -1) @ k.T.astype("float64")
        for module in (first, other):
            module.run(x=data)
            close(module.get_output(0).numpy(), wanted, 1e-5)


@pytest.mark.parametrize("channels", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_few_channels_are_padded_for_matrix_units(channels, dtype):
    kind, tolerance = NARROW[dtype]
    x, w = random(2, channels, 30, 30).astype(kind), random(64, channels, 7, 7).astype(kind)
    body = relay.nn.conv2d(var("x", *x.shape, dtype=dtype), relay.const(w), padding=(3, 3), strides=(2, 2))
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    lib = build(mod, "cuda")
    assert "gemm" in " ".join(rules(lib))
    close(answer(lib, x=x).astype("float32"), convolved(x.astype("float32"), w.astype("float64"), 2, 3), tolerance)


def test_memory_that_is_not_there_is_an_error_and_the_device_goes_on():
    with pytest.raises(tvm.error.TVMError, match="allocating .* bytes on cuda.* failed with CUDA_ERROR_OUT_OF_MEMORY"):
        tvm.nd.empty((1 << 40,), "float32", tvm.cuda(0))
    host = np.arange(6, dtype="float32")
    np.testing.assert_array_equal(tvm.nd.array(host, tvm.cuda(0)).numpy(), host)


def test_kernels_for_another_architecture_are_an_error():
    body = relay.nn.relu(var("x", 8))
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    lib = build(mod, "cuda -arch=sm_120")
    with pytest.raises(
        tvm.error.TVMError, match="the kernels are for sm_120, and cuda.* is sm_.*; compile them for it"
    ):
        answer(lib, x=np.ones(8, "float32"))
