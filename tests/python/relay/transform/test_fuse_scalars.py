"""FuseOps: numbers stay in the kernels that use them, whatever their type."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib.graph_executor import GraphModule

DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_is_no_parameter(dtype):
    x = relay.var("x", shape=(37,), dtype=dtype)
    mod = tessera.IRModule.from_expr(
        relay.Function([x], relay.maximum(x * relay.const(3, dtype), relay.const(40, dtype)))
    )
    library = relay.build(mod, "llvm")
    assert dict(library.get_params()) == {}
    module = GraphModule(library["default"](tessera.cpu()))
    values = np.arange(37).astype(dtype)
    module.run(x=values)
    np.testing.assert_array_equal(
        module.get_output(0).numpy(), np.maximum(values * np.array(3, dtype), np.array(40, dtype))
    )


def test_a_tensor_of_one_element_is_one():
    x = relay.var("x", shape=(4,))
    mod = tessera.IRModule.from_expr(relay.Function([x], x + relay.const(np.ones(1, "float32"))))
    assert len(relay.build(mod, "llvm").get_params()) == 1


def test_a_number_that_several_kernels_read_is_in_each():
    x, two = relay.var("x", shape=(8, 16)), relay.const(2.0)
    for _ in range(3):
        x = x / relay.sqrt(relay.mean(relay.power(x, two), axis=1, keepdims=True) + two)
    mod = tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(x), x))
    fused = relay.transform.FuseOps(2)(relay.transform.InferType()(mod))
    assert str(fused).count("2f") == 6
    assert "Tensor[(), float32]" not in str(fused)
    assert dict(relay.build(mod, "llvm").get_params()) == {}
