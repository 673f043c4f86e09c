"""Types over extents that are variables have the expressions that programs compare them with."""

import pytest
from tessera import IRModule, relay, te
from tessera.relay.testing import run_infer_type
from tessera.tir import indexdiv

n, c, h, w = (te.size_var(name) for name in "nchw")
th, tw = te.var("th"), te.var("tw")


def x(*shape):
    return relay.var("x", shape=shape)


CASES = {
    "a border": (relay.nn.pad(x(n, c, h, w), ((1, 1), (2, 2), (3, 3), (0, 4))), (n + 2, c + 4, h + 6, w + 4)),
    "a mirrored border": (relay.nn.mirror_pad(x(n, c), ((1, 1), (2, 2))), (n + 2, c + 4)),
    "blocks of pixels": (relay.vision.yolo_reorg(x(n, c, h, w), 2), (n, c * 2 * 2, indexdiv(h, 2), indexdiv(w, 2))),
    "a window": (relay.nn.conv2d(x(n, 3, h, w), relay.var("k"), channels=8, kernel_size=(3, 3)), (n, 8, h - 2, w - 2)),
    "a concatenation": (relay.concatenate([x(n, c), x(n, c), x(n, 3)], 1), (n, c + c + 3)),
    "a flattened image": (relay.nn.batch_flatten(x(n, c, h, w)), (n, c * h * w)),
    "merged dimensions": (relay.reshape(x(n, c, h, w), (-3, -3)), (n * c, h * w)),
    "a size that is a variable": (relay.image.resize2d(x(n, c, h, w), (th, tw)), (n, c, th, tw)),
    "copies": (relay.repeat(x(n, c), 3, 0), (n * 3, c)),
    "a broadcast": (relay.add(x(n, 1, c), relay.var("y", shape=(h, 1))), (n, h, c)),
    "a scale by halves": (
        relay.nn.upsampling(x(n, c, h, 4), 1.5, 1.5),
        (n, c, te.round(h.astype("float64") * 1.5).astype("int32"), 6),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_extents_of(name):
    call, shape = CASES[name]
    assert run_infer_type(call).checked_type == relay.TensorType(shape)


def test_what_has_several_results_is_an_expression():
    parts = relay.split(x(n, c), (2, 5), axis=1)
    found = IRModule.from_expr(parts)["main"].body
    assert run_infer_type(found).checked_type == relay.TupleType(
        [relay.TensorType((n, 2)), relay.TensorType((n, 3)), relay.TensorType((n, c - 5))]
    )
    assert run_infer_type(parts).checked_type == run_infer_type(found).checked_type
