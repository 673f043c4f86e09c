"""One model on several devices: values stay where `on_device` puts them, and are copied in between."""

import json

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.runtime import vm as runtime_vm

needs_opencl = pytest.mark.skipif(not tvm.opencl().exist, reason="no OpenCL device")
TARGETS = {"cpu": "llvm", "opencl": "opencl"}
A = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
B = np.random.default_rng(1).standard_normal((4, 8)).astype("float32")
WEIGHT = np.random.default_rng(2).standard_normal((4, 8)).astype("float32")


def mixed():
    """exp and a weight on OpenCL, the rest on the CPU."""
    x, y = relay.var("x", shape=(4, 8)), relay.var("y", shape=(4, 8))
    on_gpu = relay.annotation.on_device(relay.exp(x) * relay.const(WEIGHT), tvm.opencl())
    return tvm.IRModule.from_expr(relay.Function([x, y], relay.tanh(on_gpu + y)))


def expected():
    return np.tanh(np.exp(A) * WEIGHT + B)


def run_graph(lib, *devices):
    module = graph_executor.GraphModule(lib["default"](*devices))
    module.set_input("x", A)
    module.set_input("y", B)
    module.run()
    return module.get_output(0).numpy()


@needs_opencl
@pytest.mark.parametrize("level", [0, 3])
def test_a_graph_copies_between_its_devices(level):
    with tvm.transform.PassContext(opt_level=level):
        lib = relay.build(mixed(), TARGETS)
    graph = json.loads(lib.get_graph_json())
    devices = graph["attrs"]["device_index"][1]
    rows = graph["node_row_ptr"]
    kinds = {node["name"]: devices[rows[i]] for i, node in enumerate(graph["nodes"])}
    assert kinds["x"] == kinds["p0"] == 4 and kinds["y"] == 1
    copies = [node for node in graph["nodes"] if node.get("attrs", {}).get("func_name") == "__copy"]
    assert len(copies) == 1 and kinds[copies[0]["name"]] == 1
    np.testing.assert_allclose(run_graph(lib, tvm.cpu(), tvm.opencl()), expected(), rtol=1e-5)
    np.testing.assert_allclose(run_graph(lib, tvm.opencl(), tvm.cpu()), expected(), rtol=1e-5)


@needs_opencl
def test_a_model_of_two_devices_is_saved_and_loaded(tmp_path):
    relay.build(mixed(), TARGETS).export_library(str(tmp_path / "model.so"))
    lib = tvm.runtime.load_module(str(tmp_path / "model.so"))
    np.testing.assert_allclose(run_graph(lib, tvm.cpu(), tvm.opencl()), expected(), rtol=1e-5)


@needs_opencl
def test_a_device_that_is_not_given_is_an_error():
    lib = relay.build(mixed(), TARGETS)
    with pytest.raises(ValueError, match="for a device of kind opencl, which was not given"):
        lib["default"](tvm.cpu())


@needs_opencl
def test_the_virtual_machine_copies_between_its_devices():
    exe = relay.vm.compile(mixed(), TARGETS)
    assert "device_copy" in exe.bytecode
    machine = runtime_vm.VirtualMachine(exe, [tvm.cpu(), tvm.opencl()])
    for x in (tvm.nd.array(A), tvm.nd.array(A, tvm.opencl())):
        np.testing.assert_allclose(machine.run(x, tvm.nd.array(B)).numpy(), expected(), rtol=1e-5)
    code, lib = exe.save()
    again = runtime_vm.VirtualMachine(runtime_vm.Executable.load_exec(code, lib), [tvm.cpu(), tvm.opencl()])
    np.testing.assert_allclose(again.run(tvm.nd.array(A), tvm.nd.array(B)).numpy(), expected(), rtol=1e-5)


@needs_opencl
def test_open_shapes_and_branches_run_on_two_devices():
    x = relay.var("x", relay.TensorType((relay.Any(), 8), "float32"))
    on_gpu = relay.annotation.on_device(relay.exp(x), tvm.opencl())
    flag = relay.var("flag", shape=(), dtype="bool")
    body = relay.If(flag, relay.negative(on_gpu), relay.nn.relu(on_gpu))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x, flag], body)), TARGETS)
    machine = runtime_vm.VirtualMachine(exe, [tvm.cpu(), tvm.opencl()])
    for value, flag in ((A, True), (A[:3], False)):
        wanted = -np.exp(value) if flag else np.exp(value)
        np.testing.assert_allclose(machine.run(tvm.nd.array(value), np.array(flag)).numpy(), wanted, rtol=1e-5)


@needs_opencl
def test_the_fallback_device_is_where_nothing_says_otherwise():
    with tvm.transform.PassContext(config={"relay.fallback_device_type": tvm.opencl().device_type}):
        x = relay.var("x", shape=(4,))
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), TARGETS)
    assert set(json.loads(lib.get_graph_json())["attrs"]["device_index"][1]) == {4}


def test_two_devices_of_one_kind_have_one_target():
    x = relay.var("x", shape=(4, 8))
    there = relay.annotation.on_device(relay.exp(x), tvm.cpu(1))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.annotation.on_device(relay.tanh(there), tvm.cpu(0))))
    lib = relay.build(mod, "llvm")
    assert lib.get_graph_json().count('"__copy"') >= 1
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("x", A)
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), np.tanh(np.exp(A)), rtol=1e-5)


def test_a_target_for_another_device_than_it_is_given_for_is_rejected():
    with pytest.raises(ValueError, match="does not run on the device"):
        relay.build(mixed(), {"cpu": "opencl", "opencl": "llvm"})


def test_sizes_and_programs_of_the_functions_are_told():
    x = relay.var("x", shape=(4, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.annotation.stop_fusion(relay.exp(x)))))
    info = relay.build(mod, "llvm").function_metadata
    assert sorted(info) == ["__tvm_main__", "tvmgen_default_fused_exp", "tvmgen_default_fused_nn_softmax"]
    (target,) = info["__tvm_main__"].io_sizes
    assert target.kind.name == "llvm"
    assert info["__tvm_main__"].io_sizes[target] == 2 * 4 * 8 * 4
    assert info["__tvm_main__"].workspace_sizes[target] >= 4 * 8 * 4
    assert info["tvmgen_default_fused_exp"].io_sizes[target] == 2 * 4 * 8 * 4
    assert "exp" in str(info["tvmgen_default_fused_exp"].relay_primfuncs[target])
    assert info["tvmgen_default_fused_exp"].tir_primfuncs[target].attrs["global_symbol"] == "tvmgen_default_fused_exp"
