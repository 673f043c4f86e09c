"""`tvm.contrib.torch`, as programs of v0.10 use it."""

import base64
import io

import pytest
import tessera.as_tvm  # noqa: F401
import torch
import tvm
from tvm import meta_schedule, relay
from tvm.contrib.torch import (
    GraphModule,
    PyTorchTVMModule,
    TraceTvmModule,
    VMModule,
    as_torch,
    compile,
    optimize_torch,
    pytorch_tvm,
)
from tvm.contrib.torch.optimize_torch import save_to_base64
from tvm.script import tir as T


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def sum_and_exp():
    x, y = relay.var("x", shape=(10, 5)), relay.var("y", shape=(1, 5))
    return tvm.IRModule.from_expr(relay.Function([x, y], relay.exp(relay.add(x, y))))


@pytest.fixture
def inputs():
    return [torch.rand(10, 5), torch.rand(1, 5)]


def graph_module(folder):
    graph, lib, params = relay.build(sum_and_exp(), target="llvm", params={})
    paths = [str(folder / name) for name in pytorch_tvm.TVM_ASSETS]
    lib.export_library(paths[0])
    (folder / "graph.json").write_text(graph)
    (folder / "params").write_bytes(relay.save_param_dict(params))
    module = GraphModule(num_inputs=2, num_outputs=1).to("cpu")
    module.init([(10, 5), (1, 5)], *paths)
    return module


def vm_module(folder):
    code, lib = relay.vm.compile(sum_and_exp(), target="llvm").save()
    lib.export_library(str(folder / "mod.so"))
    (folder / "code.ro").write_bytes(code)
    module = VMModule(num_inputs=2, num_outputs=1)
    module.init([(10, 5), (1, 5)], str(folder / "mod.so"), str(folder / "code.ro"))
    return module


@pytest.mark.parametrize("make", [graph_module, vm_module])
def test_exported_files_as_a_module_that_is_scripted_traced_and_saved(make, tmp_path, inputs):
    module, wanted = make(tmp_path), (inputs[0] + inputs[1]).exp()
    assert str(module.device) == "cpu" and module.shape_repr([(10, 5), (1, 5)]) == "10x5_1x5"
    torch.testing.assert_close(module(inputs), [wanted])
    torch.jit.script(module).save(str(tmp_path / "module.pt"))
    torch.testing.assert_close(torch.jit.load(str(tmp_path / "module.pt"))(inputs), [wanted])
    traced = torch.jit.trace(TraceTvmModule(torch.jit.script(module)), inputs)
    torch.testing.assert_close(traced(*inputs), wanted)
    with pytest.raises(Exception, match="1 inputs are given, not 2"):
        module(inputs[:1])


def test_a_module_without_files_says_so(inputs):
    with pytest.raises(AssertionError, match="the module has no library yet: call init"):
        GraphModule(2, 1)(inputs)


def test_compile_tunes_if_asked_and_builds(tmp_path):
    class Square(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(16, 8)

        def forward(self, x):
            return self.layer(x * x)

    net, x = Square().eval(), torch.rand(4, 16)
    option = {
        "input_infos": [("x", (4, 16))],
        "export_dir": str(tmp_path / "compiled"),
        "num_outputs": 1,
        "tuning_n_trials": 0,
        "tuning_log_file": str(tmp_path / "tuning.log"),
        "target": "llvm",
        "device": tvm.cpu(),
    }
    compiled = compile(torch.jit.trace(net, x), option)
    torch.testing.assert_close(compiled([x]), [net(x).detach()])

    again = PyTorchTVMModule(target="llvm", device=tvm.cpu(0))
    with pytest.raises(RuntimeError, match="call build_tvm or load_tvm"):
        again.build_pytorch_module(1, 1)
    again.load_tvm(str(tmp_path / "compiled"))
    torch.testing.assert_close(again.build_pytorch_module(1, 1, [("x", (4, 16))])([x]), [net(x).detach()])
    again.tvm_module.run(data=x.numpy())


def test_a_script_as_a_module_fills_its_tensors():
    @as_torch
    @T.prim_func
    def twice(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (8, 8), "float32")
        B = T.match_buffer(b, (8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    a, b = torch.rand(8, 8), torch.zeros(8, 8)
    twice(a, b)
    torch.testing.assert_close(b, a * 2)
    with pytest.raises(ValueError, match="has gaps"):
        twice(a, b.t())
    twice.tune(meta_schedule.TuneConfig(max_trials_global=2, num_trials_per_iter=2, strategy="replay_trace"))
    b.zero_()
    twice(a, b)
    torch.testing.assert_close(b, a * 2)


def test_a_function_that_gives_scripts_gives_modules():
    @as_torch
    def scaled(n, factor):
        @T.prim_func
        def main(a: T.handle, b: T.handle):
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i in range(n):
                B[i] = A[i] * T.float32(factor)

        return main

    a, b = torch.rand(5), torch.zeros(5)
    scaled(5, 3.0)(a, b)
    torch.testing.assert_close(b, a * 3)
    with pytest.raises(ValueError, match="as_torch takes a PrimFunc"):
        as_torch(3)


def test_optimize_torch_of_modules_and_functions(tmp_path):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
    x = torch.rand(1, 3, 8, 8)
    optimized = optimize_torch(net, x, target="llvm")
    torch.testing.assert_close(optimized(x), net(x).detach())
    saved = io.BytesIO()
    torch.save(optimized, saved)
    saved.seek(0)
    torch.testing.assert_close(torch.load(saved, weights_only=False)(x), net(x).detach())
    ids = torch.tensor([1, 2, 3])
    two = optimize_torch(lambda i, t: (t[i], t * 2), (ids, torch.rand(5, 2)))
    table = torch.rand(5, 2)
    torch.testing.assert_close(two(ids, table), [table[ids], table * 2])


def test_a_library_in_base64():
    built = relay.build(sum_and_exp(), target="llvm")
    assert base64.b64decode(save_to_base64(built)).startswith(b"\x7fELF")


def test_pytorchs_own_backend_for_tvm_runs_here():
    def function(x):
        return torch.relu(x @ x.t()) + 1

    x = torch.rand(4, 6)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(function, backend="tvm")(x), function(x))
