"""Tensors put together by kernels: a nest for each part, and wrappers of many arguments."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor


def build(parts, axis, change=lambda y: y):
    """The library of a concatenation of random tensors, the tensors, and the result."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype("float32") for shape in parts]
    params = [relay.var(f"x{i}", shape=shape) for i, shape in enumerate(parts)]
    body = change(relay.concatenate(params, axis=axis))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function(params, body)), "llvm")
    module = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    for i, value in enumerate(values):
        module.set_input(f"x{i}", value)
    module.run()
    return lib, values, module.get_output(0).numpy()


def program_text(lib):
    (name,) = (name for name in lib.function_metadata if name != "__tvm_main__")
    (program,) = (program for _, program in lib.function_metadata[name].tir_primfuncs.items())
    return program.script()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_part_has_a_nest_of_its_own(axis):
    shapes = [tuple(8 + i if k == axis else 5 for k in range(3)) + (7,) for i in range(6)]
    lib, values, result = build(shapes, axis)
    np.testing.assert_array_equal(result, np.concatenate(values, axis))
    assert "if_then_else" not in program_text(lib)


def test_what_follows_is_computed_in_each_nest():
    scale = np.arange(1, 49, dtype="float32").reshape(1, 48, 1, 1)
    lib, values, result = build(
        [(1, 16, 6, 6), (1, 8, 6, 6), (1, 24, 6, 6)], 1, lambda y: relay.nn.relu(y * relay.const(scale) + y)
    )
    whole = np.concatenate(values, 1)
    np.testing.assert_allclose(result, np.maximum(whole * scale + whole, 0), rtol=1e-6)
    assert "if_then_else" not in program_text(lib)


def test_what_comes_before_is_computed_in_each_nest():
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((4, 32)).astype("float32") for _ in range(2))
    x, y = relay.var("x", shape=(4, 32)), relay.var("y", shape=(4, 32))
    body = relay.concatenate([relay.tanh(x), relay.exp(y)], axis=0)
    run = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([x, y], body)), tvm.cpu(), "llvm")
    np.testing.assert_allclose(run.evaluate()(a, b).numpy(), np.concatenate([np.tanh(a), np.exp(b)]), rtol=1e-5)


def test_small_parts_are_chosen_between():
    lib, values, result = build([(100, 1), (100, 1), (100, 2)], 1)
    np.testing.assert_array_equal(result, np.concatenate(values, 1))
    assert "if_then_else" in program_text(lib)


def test_arguments_of_a_kernel_of_many_are_checked():
    lib, values, result = build([(1, 4, 4, 4)] * 40, 1)
    np.testing.assert_array_equal(result, np.concatenate(values, 1))
    kernel = lib.get_lib()["tvmgen_default_fused_concatenate"]
    wrong = [tvm.nd.array(value) for value in values[:-1]] + [tvm.nd.array(np.zeros((1, 4, 4, 5), "float32"))]
    with pytest.raises(tvm.TVMError, match=r"arg.p39.shape\[3\]"):
        kernel(*wrong, tvm.nd.array(result))
