"""DynamicToStatic: shapes that are known make operators static."""

import numpy as np
import pytest
import tessera
from pass_checks import module
from tessera import relay
from tessera.relay.transform import DynamicToStatic


def var(name, *shape):
    return relay.var(name, shape=shape)


X, Y = var("x", 2, 6), var("y", 3, 4)


def shape():
    return relay.shape_of(Y, "int64")


def ints(*values):
    return relay.const(np.array(values, "int64"), "int64")


CASES = {
    "reshape": (lambda: relay.reshape(X, shape()), lambda: relay.reshape(X, (3, 4))),
    "arithmetic of shapes": (
        lambda: relay.reshape(X, relay.floor_divide(relay.multiply(shape(), ints(2, 1)), ints(2, 1))),
        lambda: relay.reshape(X, (3, 4)),
    ),
    "one after the other": (
        lambda: relay.reshape(relay.reshape(relay.exp(X), shape()), relay.shape_of(relay.reshape(X, ints(4, 3)))),
        lambda: relay.reshape(relay.reshape(relay.exp(X), (3, 4)), (4, 3)),
    ),
    "broadcast_to": (
        lambda: relay.broadcast_to(var("z", 3, 1), shape()),
        lambda: relay.broadcast_to(var("z", 3, 1), (3, 4)),
    ),
    "zeros": (lambda: relay.zeros(shape(), "float32"), lambda: relay.zeros((3, 4), "float32")),
    "ones": (lambda: relay.ones(shape(), "float32"), lambda: relay.ones((3, 4), "float32")),
    "full": (
        lambda: relay.full(relay.const(2.0), shape(), "float32"),
        lambda: relay.full(relay.const(2.0), (3, 4), "float32"),
    ),
    "tile": (lambda: relay.tile(X, ints(2, 3)), lambda: relay.tile(X, (2, 3))),
    "topk": (
        lambda: relay.topk(X, relay.sum(ints(1, 1)), ret_type="values"),
        lambda: relay.topk(X, 2, ret_type="values"),
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_case(name):
    before, after = (make() for make in CASES[name])
    params = relay.analysis.free_vars(before)
    names = {v.name_hint: v for v in relay.analysis.free_vars(after)}
    got = DynamicToStatic()(module(relay.Function(params, before)))
    wanted = module(relay.Function([names.get(v.name_hint, v) for v in params], after))
    assert "dyn." not in str(got)
    assert str(got["main"].ret_type) == str(wanted["main"].ret_type)
    tessera.ir.assert_structural_equal(got["main"].body, wanted["main"].body, map_free_vars=True)


def test_what_depends_on_values_stays():
    n = relay.var("n", shape=(2,), dtype="int64")
    mod = module(relay.reshape(X, n))
    tessera.ir.assert_structural_equal(DynamicToStatic()(mod), mod)


def test_a_constant_number_chooses_a_branch_before_types_are_known():
    branch = relay.If(relay.const(1), relay.reshape(X, shape()), relay.reshape(X, ints(4, 3)))
    out = DynamicToStatic()(tessera.IRModule.from_expr(relay.Function([X, Y], branch)))["main"]
    assert out.body.op.name == "reshape" and out.ret_type == relay.TensorType((3, 4))


def test_sizes_of_images_may_be_floats():
    image = var("image", 1, 1, 4, 4)
    sizes = relay.const(np.array([8, 6], "float32"))
    made = relay.image.resize2d(image, sizes, None)
    out = DynamicToStatic()(tessera.IRModule.from_expr(relay.Function([image], made)))["main"]
    assert out.ret_type == relay.TensorType((1, 1, 8, 6))
    sizes = relay.multiply(relay.cast(relay.shape_of(Y), "float32"), relay.const(2.0))
    made = relay.image.resize2d(image, sizes, None)
    out = DynamicToStatic()(tessera.IRModule.from_expr(relay.Function([image, Y], made)))["main"]
    assert out.body.op.name == "image.resize2d" and out.ret_type == relay.TensorType((1, 1, 6, 8))
