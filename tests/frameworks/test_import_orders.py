"""Tessera and other libraries in one process, imported in either order, both at work.

Each of them brings LLVM, protobuf or OpenMP of its own; a name that leaked from one to the other would end the process. A library
that is not installed is skipped: `make test` has onnx, `make test-frameworks` PyTorch and ONNX Runtime as well.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESSERA = """
import numpy as np
import tessera
from tessera import relay, te

def work_tessera():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: te.exp(A[i]) * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(s[B].split(B.op.axis[0], factor=64)[0])
    f = tessera.build(s, [A, B], "llvm")
    a, b = tessera.nd.array(np.linspace(0, 1, 1000, dtype="float32")), tessera.nd.empty((1000,))
    f(a, b)
    np.testing.assert_allclose(b.numpy(), np.exp(a.numpy()) * 2, rtol=1e-5)
    x = relay.var("x", shape=(1, 8))
    y = relay.nn.softmax(relay.nn.dense(x, relay.const(np.ones((4, 8), "float32"))))
    model = tessera.Model(relay.build(tessera.IRModule.from_expr(relay.Function([x], y)), "llvm"))
    np.testing.assert_allclose(model.run(x=np.ones((1, 8), "float32"))[0].numpy(), 0.25, rtol=1e-6)
"""

LIBRARIES = {
    "onnx": """
import onnx
from onnx import TensorProto, helper

def onnx_model():
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3))
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x")], [value("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

def work_onnx():
    onnx.checker.check_model(onnx.shape_inference.infer_shapes(onnx_model()))
    model = onnx.load_from_string(onnx_model().SerializeToString())
    if "tessera" in sys.modules:
        from tessera import relay
        mod, _ = relay.frontend.from_onnx(model)
        assert "nn.relu" in str(mod)
""",
    "onnxruntime": """
import importlib.util
import onnxruntime

def work_onnxruntime():
    if importlib.util.find_spec("onnx") is None:  # nothing to make a model with
        return
    from onnx import TensorProto, helper
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3))
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x")], [value("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.array([[-1, 0, 1], [2, -2, 3]], "float32")
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], np.maximum(x, 0))
""",
    "torch": """
import torch

def work_torch():
    x = torch.randn(64, 64, requires_grad=True)
    y = torch.nn.functional.conv2d(x[None, None], torch.ones(1, 1, 3, 3)).relu().sum()
    y.backward()
    traced = torch.jit.trace(lambda a: a @ a + 1, torch.ones(8, 8))
    assert float(traced(torch.ones(8, 8))[0, 0]) == 9 and x.grad is not None
    if "tessera" in sys.modules:
        import tessera
        shared = tessera.nd.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(4.0)))
        np.testing.assert_array_equal(shared.numpy(), np.arange(4))
""",
    "tensorflow": """
import tensorflow

def work_tensorflow():
    @tensorflow.function(jit_compile=True)
    def f(a):
        return tensorflow.nn.softmax(tensorflow.linalg.matmul(a, a) + 1)
    np.testing.assert_allclose(f(tensorflow.ones((8, 8))).numpy(), 1 / 8, rtol=1e-6)
""",
}


def run(program: str) -> None:
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join(p for p in (str(root / "python"), os.environ.get("PYTHONPATH")) if p)
    done = subprocess.run(
        [sys.executable, "-c", "import sys\nimport numpy as np\n" + program],
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-3000:]}"


def need(*libraries: str) -> None:
    for name in libraries:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:  # a folder of tests that has the name is no library
            pytest.skip(f"{name} is not installed")


def turns(*names: str) -> str:
    """Each works, all work again, then the first once more: what one leaves behind meets the others."""
    return "\n".join(f"work_{name}()" for name in (*names, *names, names[0]))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("order", ["before", "after"])
def test_a_library_is_imported_before_or_after_tessera(library: str, order: str) -> None:
    need(library)
    parts = [(library, LIBRARIES[library]), ("tessera", TESSERA)]
    if order == "after":
        parts.reverse()
    run("".join(text for _, text in parts) + turns(*(name for name, _ in parts)))


@pytest.mark.parametrize(
    "first, second", list(itertools.permutations(["torch", "tensorflow", "onnxruntime", "onnx"], 2))
)
def test_tessera_is_imported_between_two_others(first: str, second: str) -> None:
    need(first, second)
    run(LIBRARIES[first] + TESSERA + LIBRARIES[second] + turns(first, "tessera", second))
