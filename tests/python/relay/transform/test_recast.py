"""Operators in another type, with casts around them."""

import tessera
from tessera import relay
from tessera.relay.transform import recast


def layer(data, name):
    weight = relay.var(name, shape=(8, 8, 3, 3))
    return relay.nn.conv2d(data, weight, channels=8, kernel_size=(3, 3), padding=(1, 1), out_dtype="float32"), weight


def test_convolutions_take_the_new_type_and_give_the_old_one():
    x = relay.var("x", shape=(1, 8, 4, 4))
    out, w = layer(x, "w")
    found = recast(relay.Function([x, w], out), "int8", "int32")
    conv = relay.nn.conv2d(
        relay.cast(x, "int8"), relay.cast(w, "int8"), channels=8, kernel_size=(3, 3), padding=(1, 1), out_dtype="int32"
    )
    tessera.ir.assert_structural_equal(found, relay.Function([x, w], relay.cast(conv, "float32")), map_free_vars=True)


def types_of_layers(skip_layers):
    x = relay.var("x", shape=(1, 8, 4, 4))
    first, w0 = layer(x, "w0")
    second, w1 = layer(relay.nn.relu(first), "w1")
    third, w2 = layer(second, "w2")
    out = recast(
        tessera.IRModule.from_expr(relay.Function([x, w0, w1, w2], third)), "int8", "int32", skip_layers=skip_layers
    )
    found = []

    def visit(node):
        if isinstance(node, relay.Call) and getattr(node.op, "name", "") == "nn.conv2d":
            found.append(str(node.attrs.out_dtype))

    relay.analysis.post_order_visit(out["main"], visit)
    return found


def test_layers_that_are_named_stay():
    assert types_of_layers(None) == ["int32"] * 3
    assert types_of_layers([0]) == ["float32", "int32", "int32"]
    assert types_of_layers([-1]) == ["int32", "int32", "float32"]
    assert types_of_layers([0, -1]) == ["float32", "int32", "float32"]


def test_other_operators_and_tuples():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    found = recast(relay.Function([x, y], relay.concatenate([x, y], axis=0)), "float64", "float64", ops=["concatenate"])
    wanted = relay.cast(relay.concatenate([relay.cast(x, "float64"), relay.cast(y, "float64")], axis=0), "float32")
    tessera.ir.assert_structural_equal(found, relay.Function([x, y], wanted), map_free_vars=True)


def test_convolutions_without_a_type_of_their_results_give_that_of_the_data():
    mod, _ = relay.testing.resnet.get_workload(num_layers=18, image_shape=(3, 32, 32), num_classes=10)
    found = relay.transform.InferType()(tessera.IRModule.from_expr(recast(mod["main"], "int8", "int32")))
    assert found["main"].ret_type == relay.TensorType((1, 10), "float32")
