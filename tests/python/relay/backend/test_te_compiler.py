"""Single functions through their operators' implementations."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.backend import te_compiler
from tessera.relay.backend.graph_executor_codegen import GraphExecutorCodegen
from tessera.relay.backend.utils import CallType, mangle_module_name


@pytest.fixture
def compiler():
    compiler = te_compiler.get()
    compiler.clear()
    yield compiler
    compiler.clear()


def function(rows=4):
    x, w = relay.var("x", shape=(rows, 8)), relay.var("w", shape=(3, 8))
    return relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w) + relay.const(1.0)))


def test_a_function_is_compiled_and_run(compiler):
    packed = compiler.jit(function(), "llvm")
    x, w = (np.random.default_rng(0).random(s).astype("float32") - 0.5 for s in ((4, 8), (3, 8)))
    out = tessera.nd.empty((4, 3))
    packed(tessera.nd.array(x), tessera.nd.array(w), out)
    np.testing.assert_allclose(out.numpy(), np.maximum(x @ w.T + 1, 0), 1e-5)


def test_equal_functions_are_lowered_once(compiler):
    first = compiler.lower(function(), "llvm")
    assert compiler.lower(function(), "llvm") is first and len(compiler.items()) == 1
    assert compiler.lower(function(5), "llvm") is not first and len(compiler.items()) == 2
    assert compiler.items()[0][1].use_count == 2
    assert first.prim_fn_var.name_hint == "tvmgen_default_fused_nn_dense_add_nn_relu"
    assert [tuple(map(int, t.shape)) for t in (*first.inputs, *first.outputs)] == [(4, 8), (3, 8), (4, 3)]


def test_the_target_may_be_the_current_one(compiler):
    with pytest.raises(ValueError, match="Target is not set"):
        compiler.lower(function())
    with tessera.target.Target("llvm"):
        compiler.lower(function())


def test_results_that_are_tuples(compiler):
    x = relay.var("x", shape=(4, 2))
    parts = relay.split(x, 2, axis=0)
    packed = compiler.jit(relay.Function([x], relay.Tuple([parts[1], parts[0]])), "llvm")
    data = np.arange(8, dtype="float32").reshape(4, 2)
    outs = [tessera.nd.empty((2, 2)), tessera.nd.empty((2, 2))]
    packed(tessera.nd.array(data), *outs)
    np.testing.assert_array_equal(outs[0].numpy(), data[2:])
    np.testing.assert_array_equal(outs[1].numpy(), data[:2])


def test_the_graph_of_a_program():
    mod = tessera.IRModule.from_expr(function())
    graph, kernels, params = GraphExecutorCodegen(None, "llvm").codegen(mod, mod["main"])
    assert '"nodes"' in graph and len(kernels) == 1 and params == {}


def test_names_of_modules():
    assert mangle_module_name("default") == "tvmgen_default" and mangle_module_name(None) == "tvmgen"
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        mangle_module_name("a-b")
    assert [kind.name for kind in CallType] == ["Packed", "CPacked", "Unpacked"]
