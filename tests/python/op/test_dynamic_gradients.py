"""Gradients where shapes are arguments or not known, against finite differences on the virtual machine."""

import numpy as np
import pytest
import tessera
from gradient_cases_image import IMAGE_CASES
from gradient_cases_nn import NN_CASES
from gradient_checks import call, check_open, int64
from nn_checks import tensor, variables
from references import REFERENCES
from tessera import relay
from tessera.relay import image, nn

SHAPES = {
    "dyn.reshape": (relay.reshape, [3, 2], 1),
    "dyn.squeeze": (relay.squeeze, [1], 1),
    "dyn.expand_dims": (relay.expand_dims, 1, 1),
    "dyn.broadcast_to": (relay.broadcast_to, [2, 4, 3], 4),
    "dyn.full": (relay.full, [2, 3], 6),
}


@pytest.mark.parametrize("name", SHAPES)
def test_gradient_where_the_shape_is_an_argument(name):
    build, shape, copies = SHAPES[name]
    given = () if name == "dyn.full" else (2, 1, 3)
    arrays = tensor(*given, dtype="float64"), np.array(shape, "int64")
    x, s = params = variables(arrays)
    body = build(x, s)
    assert body.op.name == name
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(params, relay.sum(body * body))))
    backward = tessera.IRModule.from_expr(relay.transform.gradient(mod["main"], mode="first_order"))
    _, (by_x, by_shape) = relay.create_executor("vm", backward, tessera.cpu(), "llvm").evaluate()(*arrays)
    np.testing.assert_allclose(by_x.numpy(), 2 * copies * arrays[0])
    assert not by_shape.numpy().any()


DYNAMIC = {
    "dyn.strided_slice": lambda: (
        lambda x, b, e, s: relay.strided_slice(x, b, e, s),
        tensor(4, 6),
        int64(1, 5),
        int64(4, 0),
        int64(2, -2),
    ),
    "dyn.strided_slice size": lambda: (
        lambda x, b, e, s: relay.strided_slice(x, b, e, s, slice_mode="size"),
        tensor(4, 6),
        int64(-3, 2),
        int64(2, -1),
        int64(1, 1),
    ),
    "dyn.tile": lambda: (relay.tile, tensor(2, 3), int64(2, 1, 3)),
    "dyn.tile few": lambda: (relay.tile, tensor(2, 3), int64(2)),
    "dyn.nn.pad": lambda: (nn.pad, tensor(2, 3), np.array([[1, 0], [2, 3]]), tensor()),
    "dyn.nn.pad edge": lambda: (
        lambda x, w, v: nn.pad(x, w, v, "edge"),
        tensor(2, 3),
        np.array([[1, 0], [2, 3]]),
        tensor(),
    ),
    "dyn.nn.pad reflect": lambda: (
        lambda x, w, v: nn.pad(x, w, v, "reflect"),
        tensor(3, 4),
        np.array([[1, 2], [0, 3]]),
        tensor(),
    ),
    "dyn.nn.upsampling": lambda: (
        lambda x, h, w: nn.upsampling(x, relay.cast(h, "float32"), relay.cast(w, "float32"), method="bilinear"),
        tensor(1, 2, 3, 2),
        int64(2),
        int64(3),
    ),
    "dyn.nn.upsampling3d": lambda: (
        lambda x, d, h, w: nn.upsampling3d(
            x, *(relay.cast(s, "float32") for s in (d, h, w)), layout="NDHWC", method="trilinear"
        ),
        tensor(1, 2, 3, 2, 1),
        int64(2),
        int64(1),
        int64(2),
    ),
    "dyn.image.resize2d": lambda: (
        lambda x, s: image.resize2d(x, s, method="cubic", layout="NHWC"),
        tensor(1, 3, 4, 2),
        int64(5, 3),
    ),
    "dyn.topk": lambda: (lambda x, k: relay.topk(x, k, ret_type="values"), tensor(3, 5), int64(2)),
    "dyn.one_hot": lambda: (
        lambda i, on, off, d: relay.one_hot(i, on, off, d, -1, "float64"),
        int64(0, 3, 1),
        tensor(),
        tensor(),
        np.array(4, "int64"),
    ),
    "dyn.sparse_to_dense": lambda: (
        lambda i, s, v, d: relay.sparse_to_dense(i, s, v, d),
        np.array([[0, 1], [2, 3], [2, 3], [9, 9]]),
        int64(3, 4),
        tensor(4),
        tensor(),
    ),
}
ANY = relay.Any()
OPEN = {
    "concatenate": lambda: (
        lambda a, b: relay.concatenate([a, b], 1),
        [(2, ANY), (2, ANY)],
        tensor(2, 3),
        tensor(2, 1),
    ),
    "mean": lambda: (lambda x: relay.mean(x, (0, 2)), [(ANY, 3, 4)], tensor(2, 3, 4)),
    "variance": lambda: (lambda x: relay.variance(x, 1, unbiased=True), [(2, ANY)], tensor(2, 3)),
    "take": lambda: (
        lambda x, i: relay.take(x, i, 1, mode="wrap"),
        [(2, ANY, 3), (2, ANY)],
        tensor(2, 4, 3),
        np.array([[1, 3, -2], [3, 0, 9]]),
    ),
    "take_flat": lambda: (relay.take, [(ANY, 3), (ANY,)], tensor(2, 3), np.array([1, 9, 1])),
    "strided_slice": lambda: (lambda x: relay.strided_slice(x, [1, -2], [3, -9], [1, -1]), [(ANY, ANY)], tensor(4, 5)),
    "strided_slice_axes": lambda: (
        lambda x: relay.strided_slice(x, [-3], [2], axes=[1], slice_mode="size"),
        [(ANY, ANY)],
        tensor(2, 5),
    ),
    "slice_like": lambda: (relay.slice_like, [(ANY, 4), (2, ANY)], tensor(3, 4), tensor(2, 3)),
    "tile": lambda: (lambda x: relay.tile(x, (2, 1, 3)), [(ANY, 2)], tensor(3, 2)),
    "repeat": lambda: (lambda x: relay.repeat(x, 3, 1), [(ANY, ANY)], tensor(2, 3)),
    "pad": lambda: (lambda x: nn.pad(x, ((1, 0), (2, 3))), [(ANY, ANY)], tensor(2, 3)),
    "pad_edge": lambda: (lambda x: nn.pad(x, ((1, 0), (2, 3)), pad_mode="edge"), [(ANY, ANY)], tensor(2, 3)),
    "mirror_pad": lambda: (lambda x: nn.mirror_pad(x, ((1, 0), (2, 1))), [(ANY, ANY)], tensor(2, 3)),
    "resize2d": lambda: (lambda x: image.resize2d(x, (5, 3)), [(ANY, 1, ANY, ANY)], tensor(2, 1, 3, 4)),
    "fft": lambda: (lambda x: call("fft", x, inverse=True), [(ANY, 2)], tensor(4, 2)),
    "conv2d": lambda: (
        lambda x, w: nn.conv2d(x, w, padding=1, strides=2),
        [(ANY, 2, 4, 4), (3, 2, 3, 3)],
        tensor(2, 2, 4, 4),
        tensor(3, 2, 3, 3),
    ),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_gradient_where_extents_are_arguments(name):
    build, *arrays = DYNAMIC[name]()
    assert check_open(build, *arrays).name == name.split()[0]


@pytest.mark.parametrize("name", OPEN)
def test_gradient_where_extents_are_not_known(name):
    build, shapes, *arrays = OPEN[name]()
    check_open(build, *arrays, shapes=shapes)


def test_every_gradient_of_another_operator_is_compared():
    compared = {*SHAPES, *(name.split()[0] for name in DYNAMIC)}
    for build, *arrays in (case() for case in {**NN_CASES, **IMAGE_CASES}.values()):
        body = build(*variables([a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]))
        compared.add((body.tuple_value if isinstance(body, relay.TupleWrapper) else body).op.name)
    zero = {"argwhere", "dyn.ones", "dyn.zeros", "round_to_even"}
    elsewhere = {"nn.recurrent"}  # test_recurrent_operators.py
    names = {name for name in tessera.ir.Op.list_op_names() if not name.startswith("tir.")}
    names -= {*REFERENCES, *zero, *elsewhere}
    assert {name for name in names if tessera.ir.Op.get(name).has_attr("FPrimalGradient")} == compared - set(REFERENCES)
