"""topi.nn, topi.image and topi.vision: computes of the operators as functions of tensors."""

import numpy as np
import pytest
import tessera
from tessera import te, topi

RNG = np.random.default_rng(5)


def tensor(*shape):
    return RNG.uniform(-1, 1, shape).astype("float32")


def run(build, *arrays):
    """The outputs of `build(placeholders...)`, plainly scheduled."""
    inputs = [te.placeholder(a.shape, str(a.dtype), name=f"x{i}") for i, a in enumerate(arrays)]
    outs = build(*inputs)
    outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
    function = tessera.build(te.create_schedule([out.op for out in outs]), [*inputs, *outs], "llvm")
    results = [tessera.nd.array(np.zeros([int(n) for n in out.shape], out.dtype)) for out in outs]
    function(*[tessera.nd.array(a) for a in arrays], *results)
    return [r.numpy() for r in results]


def test_matmuls():
    a, b, bias = tensor(3, 5), tensor(4, 5), tensor(4)
    np.testing.assert_allclose(run(topi.nn.dense, a, b, bias)[0], a @ b.T + bias, rtol=1e-5, atol=1e-5)
    build = lambda x, y: topi.nn.matmul(x, y, transpose_a=True, transpose_b=True)
    np.testing.assert_allclose(run(build, tensor(5, 3) * 0 + a.T, b)[0], a @ b.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run(topi.nn.batch_matmul, a[None], b[None])[0], (a @ b.T)[None], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding, extent", [("SAME", 6), ("VALID", 4), (1, 6), ((1, 0), 6), ((0, 0, 2, 2), 6)])
def test_padding_of_convolutions_is_written_in_many_ways(padding, extent):
    x, w = te.placeholder((1, 2, 6, 6)), te.placeholder((3, 2, 3, 3))
    assert int(topi.nn.conv2d_nchw(x, w, 1, padding, 1).shape[2]) == extent


def test_convolutions_in_their_layouts_agree():
    x, w = tensor(2, 4, 6, 5), tensor(3, 4, 3, 2)
    want = run(lambda d, f: topi.nn.conv2d_nchw(d, f, 2, 1, 1), x, w)[0]
    last = run(
        lambda d, f: topi.nn.conv2d_nhwc(d, f, 2, 1, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(w.transpose(2, 3, 1, 0)),
    )[0]
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), want, rtol=1e-4, atol=1e-5)
    front = run(
        lambda d, f: topi.nn.conv2d_hwcn(d, f, 2, 1, 1),
        np.ascontiguousarray(x.transpose(2, 3, 1, 0)),
        np.ascontiguousarray(w.transpose(2, 3, 1, 0)),
    )[0]
    np.testing.assert_allclose(front.transpose(3, 2, 0, 1), want, rtol=1e-4, atol=1e-5)


def test_borders():
    x = tensor(3, 4)
    np.testing.assert_array_equal(
        run(lambda d: topi.nn.pad(d, (1, 0), (0, 2), 0.5), x)[0], np.pad(x, ((1, 0), (0, 2)), constant_values=0.5)
    )
    np.testing.assert_array_equal(
        run(lambda d: topi.nn.mirror_pad(d, (1, 2), mode="REFLECT"), x)[0], np.pad(x, ((1, 1), (2, 2)), mode="reflect")
    )
    dilated = run(lambda d: topi.nn.dilate(d, (2, 3), 7.0), x)[0]
    np.testing.assert_array_equal(dilated[::2, ::3], x)
    assert (np.delete(dilated, [0, 2, 4], 0) == 7).all()


def test_pools_and_softmax():
    x = tensor(2, 3, 4, 6)
    blocks = x.reshape(2, 3, 2, 2, 3, 2)
    pooled = run(lambda d: topi.nn.pool2d(d, 2, 2, 1, 0, "max"), x)[0]
    np.testing.assert_array_equal(pooled, blocks.max((3, 5)))
    pooled = run(lambda d: topi.nn.adaptive_pool(d, (2, 3), "avg"), x)[0]
    np.testing.assert_allclose(pooled, blocks.mean((3, 5)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run(topi.nn.softmax, x)[0].sum(-1), np.ones((2, 3, 4)), rtol=1e-5)
    with pytest.raises(ValueError, match="pool_type is median"):
        topi.nn.pool2d(te.placeholder((1, 1, 4, 4)), 2, 2, 1, 0, "median")


def test_images():
    x = tensor(1, 2, 3, 4)
    doubled = run(lambda d: topi.nn.upsampling(d, 2, 2), x)[0]
    np.testing.assert_array_equal(doubled, x.repeat(2, 2).repeat(2, 3))
    same = run(lambda d: topi.image.resize2d(d, (0.0,) * 4, (3, 4)), x)[0]
    np.testing.assert_allclose(same, x, rtol=1e-6, atol=1e-6)


def test_detections():
    scores = np.array([[[0, 0.9, 0, 0, 1, 1], [0, 0.8, 0, 0, 1, 1.1], [1, 0.1, 5, 5, 6, 6]]], "float32")

    def build(data):
        count, boxes, indices = topi.vision.get_valid_counts(data, 0.5)
        return topi.vision.non_max_suppression(boxes, count, indices, iou_threshold=0.5)

    kept, count = run(build, scores)
    assert kept.tolist() == [[0, -1, -1]]
    assert count.tolist() == [[1]]


def test_a_compute_of_the_users_may_call_topi():
    """It gets the operator's own compute, not itself again."""
    from tessera import ir, relay

    op = ir.Op.get("nn.leaky_relu")
    own = op.get_attr("FTVMCompute")
    relay.op.register_compute("nn.leaky_relu", lambda attrs, inputs, out: [topi.nn.leaky_relu(inputs[0], 0.5)], 11)
    try:
        x = te.placeholder((4,), name="x")
        (out,) = op.get_attr("FTVMCompute")(None, [x], None)
        assert out.op.input_tensors[0].op.name == "x"
    finally:
        op.set_attr("FTVMCompute", own, 12)


def test_a_wrong_call_is_rejected():
    with pytest.raises(ValueError, match="nn.conv2d: data and attributes describe a weight of in channels 4"):
        topi.nn.conv2d_nchw(te.placeholder((1, 4, 6, 6)), te.placeholder((3, 5, 3, 3)), 1, 0, 1)
