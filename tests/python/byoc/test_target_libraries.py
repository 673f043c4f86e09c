"""`-libs=` of a target: contractions by cblas, mkl and oneDNN."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib import cblas, graph_executor  # noqa: F401  # NumPy's BLAS, where there is no other
from tessera.relay.op.contrib import dnnl

RANDOM = np.random.default_rng(3)


def tensor(*shape, dtype="float32"):
    return RANDOM.standard_normal(shape).astype(dtype)


def model(dtype="float32"):
    x = relay.var("x", shape=(2, 4, 6), dtype=dtype)
    y = relay.nn.batch_matmul(x, relay.const(tensor(2, 5, 6), dtype))
    y = relay.nn.relu(relay.reshape(y, (8, 5)))
    y = relay.nn.dense(y, relay.const(tensor(3, 5), dtype))
    y = relay.nn.matmul(y, relay.const(tensor(8, 4), dtype), transpose_a=True)
    return relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], relay.exp(y))))


def run(mod, x, target, path=None):
    lib = relay.build(mod, target=target)
    kinds = sorted({m.type_key for m in lib.get_lib().imported_modules})
    if path:
        lib.export_library(str(path))
        lib = tessera.runtime.load_module(str(path))
    graph = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    graph.run(x=x)
    return graph.get_output(0).numpy(), kinds


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("written", [False, True])
def test_cblas_multiplies_matrices(dtype, written, tmp_path):
    mod, x = model(dtype), tensor(2, 4, 6, dtype=dtype)
    found, kinds = run(mod, x, "llvm -libs=cblas", tmp_path / "lib.so" if written else None)
    assert kinds == ["cblas_json"]
    np.testing.assert_allclose(found, run(mod, x, "llvm")[0], 1e-4)
    assert run(mod, x, "llvm")[1] == []


def test_the_virtual_machine_calls_them_too():
    mod, x = model(), tensor(2, 4, 6)
    exe = relay.vm.compile(mod, target="llvm -libs=cblas")
    found = tessera.runtime.vm.VirtualMachine(exe, tessera.cpu()).run(tessera.nd.array(x)).numpy()
    np.testing.assert_allclose(found, run(mod, x, "llvm")[0], 1e-4)


def test_mkl_is_asked_by_name_and_says_when_it_is_not_there():
    mod, x = model(), tensor(2, 4, 6)
    if tessera.get_global_func("tessera.blas.is_available")(True):
        np.testing.assert_allclose(run(mod, x, "llvm -libs=mkl")[0], run(mod, x, "llvm")[0], 1e-4)
    else:
        with pytest.raises(RuntimeError, match="MKL is not there"):
            run(mod, x, "llvm -libs=mkl")


@pytest.mark.skipif(
    not dnnl.is_dnnl_available(), reason="oneDNN is not there: apt install libdnnl-dev, and build again"
)
def test_onednn_takes_convolutions_as_well():
    x = relay.var("x", shape=(1, 3, 8, 8))
    conv = relay.nn.conv2d(x, relay.const(tensor(4, 3, 3, 3)), kernel_size=(3, 3), channels=4)
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], relay.nn.relu(conv))))
    data = tensor(1, 3, 8, 8)
    found, kinds = run(mod, data, "llvm -libs=dnnl")
    assert kinds == ["dnnl_json"]
    np.testing.assert_allclose(found, run(mod, data, "llvm")[0], 1e-4, 1e-5)


def test_other_types_stay_ours():
    x = relay.var("x", shape=(4, 6), dtype="float16")
    mod = tessera.IRModule.from_expr(relay.nn.dense(x, relay.const(tensor(3, 6).astype("float16"))))
    assert run(relay.transform.InferType()(mod), tensor(4, 6).astype("float16"), "llvm -libs=cblas")[1] == []


def test_operands_that_do_not_fit_are_an_error():
    matmul = tessera.get_global_func("tvm.contrib.cblas.matmul")
    a, b, c = (tessera.nd.array(tensor(*shape)) for shape in ((2, 3), (4, 5), (2, 5)))
    with pytest.raises(ValueError):
        matmul(a, b, c, False, False)
