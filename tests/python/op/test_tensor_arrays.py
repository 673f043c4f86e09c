"""Arrays of tensors in programs with loops and data types, interpreted and on the virtual machine."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay.prelude import Prelude, StaticTensorArrayOps

ROWS = np.arange(12, dtype="float32").reshape(4, 3)


def run(kind, prelude, params, body, *args):
    mod = prelude.mod
    mod["main"] = relay.Function(params, body)
    return relay.create_executor(kind, mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args)


def number(value):
    return relay.const(value, "int32")


@pytest.fixture(params=["debug", "vm"])
def kind(request):
    return request.param


@pytest.fixture
def p():
    return Prelude()


def fn(p, name):
    return p.get_global_var(name, "float32")


def data(value):
    (tensor,) = value.fields if hasattr(value, "fields") else value
    return tensor.numpy()


def test_versions_appear_when_they_are_asked_for(p):
    assert p.get_name("tensor_array", "int8") == "tensor_array_int8"
    assert "tensor_array_int8" not in {var.name_hint for var in p.mod.get_global_vars()}
    p.get_global_var("tensor_array", "int8")
    assert "tensor_array_int8" in {var.name_hint for var in p.mod.get_global_vars()}
    assert p.get_tensor_ctor("tensor2", "int8").name_hint == "tensor2_int8"
    assert p.get_type("tensor_t", "int8")[0].name_hint == "tensor_int8_t"


def test_what_is_written_is_read(kind, p):
    x = relay.var("x", shape=(3,))
    written = fn(p, "tensor_array_write")(
        fn(p, "tensor_array")(number(3)), number(1), p.get_tensor_ctor("tensor1", "float32")(x)
    )
    result = run(kind, p, [x], fn(p, "tensor_array_read")(written, number(1)), ROWS[2])
    np.testing.assert_array_equal(data(result), ROWS[2])


def test_rows_unstacked_and_stacked_are_the_tensor(kind, p):
    x = relay.var("x", shape=(4, 3))
    rows = fn(p, "tensor_array_unstack_tensor2")(x)
    np.testing.assert_array_equal(data(run(kind, p, [x], fn(p, "tensor_array_stack")(rows), ROWS)), ROWS)


def test_elements_are_gathered_in_order(kind, p):
    x, i = relay.var("x", shape=(4, 3)), relay.var("i", shape=(3,), dtype="int32")
    body = fn(p, "tensor_array_gather")(fn(p, "tensor_array_unstack_tensor2")(x), i)
    index = np.array([3, 0, 3], "int32")
    np.testing.assert_array_equal(data(run(kind, p, [x, i], body, ROWS, index)), ROWS[index])


def test_elements_are_scattered(kind, p):
    x, i = relay.var("x", shape=(4, 3)), relay.var("i", shape=(4,), dtype="int32")
    values = fn(p, "tensor_array_unstack_tensor2")(x)
    body = fn(p, "tensor_array_stack")(fn(p, "tensor_array_scatter")(fn(p, "tensor_array")(number(4)), i, values))
    index = np.array([2, 0, 3, 1], "int32")
    wanted = np.empty_like(ROWS)
    wanted[index] = ROWS
    np.testing.assert_array_equal(data(run(kind, p, [x, i], body, ROWS, index)), wanted)


def test_a_tensor_split_and_concatenated_is_itself(kind, p):
    x, lengths = relay.var("x", shape=(4, 3)), relay.var("lengths", shape=(2,), dtype="int32")
    whole = p.get_tensor_ctor("tensor2", "float32")(x)
    parts = fn(p, "tensor_array_split")(fn(p, "tensor_array")(number(2)), whole, lengths)
    body = fn(p, "tensor_array_concat")(parts)
    result = run(kind, p, [x, lengths], body, ROWS, np.array([3, 1], "int32"))
    np.testing.assert_array_equal(data(result), ROWS)


def test_arrays_of_one_shape_stack_and_gather(kind, p):
    StaticTensorArrayOps(p, "float32", (3,)).register()
    get = lambda name: p.get_global_var_static(name, "float32", (3,))
    assert get("tensor_array").name_hint == "tensor_array_float32_3"
    assert p.get_tensor_ctor_static("tensor_constructor", "float32", (3,)).name_hint == "tensor_constructor_float32_3"
    x, i = relay.var("x", shape=(4, 3)), relay.var("i", shape=(2,), dtype="int32")
    rows = get("tensor_array_unstack")(x)
    result = run(kind, p, [x], get("tensor_array_stack")(rows), ROWS)
    np.testing.assert_array_equal(result.numpy(), ROWS)
    index = np.array([1, 2], "int32")
    np.testing.assert_array_equal(
        run(kind, p, [x, i], get("tensor_array_gather")(rows, i), ROWS, index).numpy(), ROWS[index]
    )


def test_arrays_of_dynamic_rows_split_and_concatenate(kind, p):
    shape = (relay.Any(), 3)
    StaticTensorArrayOps(p, "float32", shape).register()
    get = lambda name: p.get_global_var_static(name, "float32", shape)
    x, lengths = relay.var("x", shape=(4, 3)), relay.var("lengths", shape=(2,), dtype="int32")
    parts = get("tensor_array_split")(get("tensor_array")(number(2)), x, lengths)
    result = run(kind, p, [x, lengths], get("tensor_array_concat")(parts), ROWS, np.array([1, 3], "int32"))
    np.testing.assert_array_equal(result.numpy(), ROWS)
    first = get("tensor_get_data")(get("tensor_array_read")(parts, number(1)))
    result = run(kind, p, [x, lengths], first, ROWS, np.array([1, 3], "int32"))
    np.testing.assert_array_equal(result.numpy(), ROWS[1:])


def test_functions_of_arrays_are_defined_one_by_one():
    prelude = relay.prelude.Prelude()
    ops = relay.prelude.StaticTensorArrayOps(prelude, "float32", [2, 3])
    ops.define_tensor_adt()
    for define in (ops.define_tensor_take, ops.define_tensor_expand_dims, ops.define_tensor_concatenate):
        define()
    x = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    make = ops.get_ctor("tensor_constructor")
    both = ops.get_global_var("tensor_concatenate")(make(x), make(x))
    rows = relay.prelude.StaticTensorArrayOps(prelude, "float32", [relay.Any(), 3])
    rows.define_tensor_adt()
    rows.define_tensor_get_data()
    prelude.mod["main"] = relay.Function([], rows.get_global_var("tensor_get_data")(both))
    out = relay.create_executor("vm", mod=prelude.mod, target="llvm").evaluate()()
    np.testing.assert_array_equal(out.numpy(), np.tile(np.arange(6).reshape(2, 3), (2, 1)))
    assert ops.is_cached(ops.get_name("tensor_take")) and not ops.is_cached("nonesuch")


def test_the_shape_of_an_array():
    prelude = relay.prelude.Prelude()
    ops = relay.prelude.StaticTensorArrayOps(prelude, "float32", [2, 3])
    ops.register()
    array = ops.get_global_var("tensor_array")(relay.const(4))
    assert relay.prelude.get_tensor_array_shape(array, "float32", prelude) == [2, 3]
    relay.prelude.TensorArrayOps(prelude, "int32").register()
    other = prelude.get_global_var("tensor_array", "int32")(relay.const(4))
    assert relay.prelude.get_tensor_array_shape(other, "int32", prelude) is None


def test_the_core_of_the_prelude_has_the_type_of_storage():
    mod = tvm.IRModule()
    mod.import_from_std("core.rly")
    assert mod.get_type("Storage")[0].name_hint == "Storage"
