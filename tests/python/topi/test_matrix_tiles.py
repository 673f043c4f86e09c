"""Linear layers of int8 and bf16 in the matrix registers of AMX: what is planned anywhere, what is computed where they are."""

import ml_dtypes
import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor

AMX = "llvm -mcpu=sapphirerapids"
RNG = np.random.default_rng(7)
FEATURES = {str(feature) for feature in tvm.get_global_func("topi.cpu.machine_of")(tvm.target.Target("llvm")).features}
needs_amx = pytest.mark.skipif(not {"amx-int8", "amx-bf16"} <= FEATURES, reason="this CPU has no matrix registers")


def random(dtype, *shape):
    if dtype == "bfloat16":
        return RNG.standard_normal(shape).astype(ml_dtypes.bfloat16)
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def layer(dtype, m, n, k, epilogue=lambda y: y):
    """A linear layer of a constant weight, as a module, and the weight; m may be dynamic."""
    weight = random("int8" if dtype == "uint8" else dtype, n, k)
    x = relay.var("x", shape=(m, k), dtype=dtype)
    y = relay.nn.dense(x, relay.const(tvm.nd.array(weight)), out_dtype="int32" if dtype == "uint8" else "float32")
    return tvm.IRModule.from_expr(relay.Function([x], epilogue(y))), weight


def built(mod, target):
    with tvm.transform.PassContext(opt_level=3):
        return relay.build(mod, target)


def wanted(x, weight):
    wide = "int64" if x.dtype == np.uint8 else "float64"
    return x.astype(wide) @ weight.astype(wide).T


def close(got, want):
    if got.dtype == np.int32:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, atol=2e-5 * np.abs(want).max())


@pytest.mark.parametrize("dtype,instruction", [("uint8", "tdpbusd"), ("bfloat16", "tdpbf16ps")])
def test_a_layer_is_multiplied_by_matrix_registers(dtype, instruction):
    text = built(layer(dtype, 128, 256, 512)[0], AMX).get_lib().get_source("asm")
    assert text.count(instruction) == 4  # two registers of rows by two of columns
    assert text.count("ldtilecfg") == text.count("tilerelease") == 1


def test_rows_that_fill_no_register_are_not():
    text = built(layer("uint8", 128, 256, 60)[0], AMX).get_lib().get_source("asm")
    assert "tdpbusd" not in text and "vpdpbusd" in text


def test_a_target_without_them_has_vectors():
    text = built(layer("uint8", 128, 256, 512)[0], "llvm -mcpu=icelake-server").get_lib().get_source("asm")
    assert "tdpbusd" not in text and "vpdpbusd" in text


EXTENTS = [
    (32, 32, 64),
    (2, 16, 128),
    (7, 96, 256),
    (16, 100, 192),
    (17, 33, 64),
    (33, 48, 512),
    (100, 768, 768),
    (197, 130, 200),  # k in whole registers and a rest
    (63, 1000, 2048),
    (129, 5, 96),
]


@needs_amx
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
@pytest.mark.parametrize("m,n,k", EXTENTS)
def test_layers_of_any_extents(dtype, m, n, k):
    mod, weight = layer(dtype, m, n, k)
    x = random(dtype, m, k)
    module = graph_executor.GraphModule(built(mod, "llvm")["default"](tvm.cpu()))
    module.run(x=tvm.nd.array(x))
    close(module.get_output(0).numpy(), wanted(x, weight))


@needs_amx
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
@pytest.mark.parametrize("n,k", [(96, 256), (50, 200)])
def test_layers_of_dynamic_rows(dtype, n, k):
    mod, weight = layer(dtype, relay.Any(), n, k)
    with tvm.transform.PassContext(opt_level=3):
        executable = relay.vm.compile(mod, "llvm")
    machine = tvm.runtime.vm.VirtualMachine(executable, tvm.cpu())
    for m in (1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 100):
        x = random(dtype, m, k)
        close(machine.run(tvm.nd.array(x)).numpy(), wanted(x, weight))


@needs_amx
def test_rows_that_two_tiles_compute_are_stored_once():
    """The second input may be overwritten by the result: adding it twice would show."""
    m, n, k = 33, 64, 128
    weight, x, rest = random("int8", n, k), random("uint8", m, k), RNG.integers(0, 99, (m, n)).astype("int32")
    a = relay.var("x", shape=(m, k), dtype="uint8")
    b = relay.var("rest", shape=(m, n), dtype="int32")
    y = relay.nn.dense(a, relay.const(weight), out_dtype="int32") + relay.nn.relu(b)
    module = graph_executor.GraphModule(
        built(tvm.IRModule.from_expr(relay.Function([a, b], y)), "llvm")["default"](tvm.cpu())
    )
    module.run(x=tvm.nd.array(x), rest=tvm.nd.array(rest))
    close(module.get_output(0).numpy(), wanted(x, weight) + rest)


def of_two_inputs(m, n, k, transpose_b=False):
    x, y = (
        relay.var("x", shape=(2, m, k), dtype="uint8"),
        relay.var("y", shape=(2, *((n, k) if transpose_b else (k, n))), dtype="int8"),
    )
    return tvm.IRModule.from_expr(
        relay.Function([x, y], relay.nn.batch_matmul(x, y, out_dtype="int32", transpose_b=transpose_b))
    )


def test_matmuls_of_two_inputs_are_multiplied_by_matrix_registers_too():
    text = built(of_two_inputs(128, 128, 64), AMX).get_lib().get_source("asm")
    assert "tdpbusd" in text


@needs_amx
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("m,n,k", EXTENTS)
def test_matmuls_of_two_inputs(m, n, k, transpose_b):
    x, y = random("uint8", 2, m, k), random("int8", 2, k, n)
    module = graph_executor.GraphModule(built(of_two_inputs(m, n, k, transpose_b), "llvm")["default"](tvm.cpu()))
    module.run(x=tvm.nd.array(x), y=tvm.nd.array(np.ascontiguousarray(y.swapaxes(1, 2)) if transpose_b else y))
    close(module.get_output(0).numpy(), np.matmul(x.astype("int32"), y.astype("int32")))
