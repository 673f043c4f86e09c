"""Pieces of schedules and computes that scripts put together by hand."""

import numpy as np
import pytest
import tessera
from tessera import te, topi
from tessera.topi import _binding
from tessera.topi.adreno import utils as adreno


def run(out, inputs, arrays):
    result = tessera.nd.empty([int(n) for n in out.shape], out.dtype)
    program = tessera.build(te.create_schedule(out.op), [*inputs, out], "llvm")
    program(*map(tessera.nd.array, arrays), result)
    return result.numpy()


def test_tiles_bound_to_threads():
    a = te.placeholder((16, 32), name="a")
    b = te.compute((16, 32), lambda i, j: a[i, j] * 2.0, name="b")
    schedule = te.create_schedule(b.op)
    _binding.tile_and_bind(schedule, b, *b.op.axis, 4, 8)
    text = str(tessera.lower(schedule, [a, b]))
    assert all(name in text for name in ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y"))
    c = te.compute((8, 16, 32), lambda k, i, j: a[i, j] + k, name="c")
    schedule = te.create_schedule(c.op)
    assert len(topi.mali.tile_and_bind3d(schedule, c, *c.op.axis, 2)) == 6
    with tessera.target.Target("cuda"):
        schedule = te.create_schedule(b.op)
        copy = topi.bifrost.interleave_transpose(schedule, a, 4, 0, 1, [b])
        topi.bifrost.fuse_and_bind(schedule, b)
    assert copy.op.name in str(tessera.lower(schedule, [a, b]))


def test_gemms():
    a, b = np.random.rand(2, 3, 4).astype("float32"), np.random.rand(2, 4, 5).astype("float32")
    inputs = [te.placeholder(x.shape, name=name) for x, name in ((a, "a"), (b, "b"))]
    np.testing.assert_allclose(run(topi.bifrost.decl_batched_gemm(None, *inputs), inputs, [a, b]), a @ b, 1e-5)


def test_layers_of_vnni():
    data = np.random.randint(0, 255, (5, 8)).astype("uint8")
    weight = np.random.randint(-128, 127, (32, 8)).astype("int8")
    packed = weight.reshape(2, 16, 2, 4).transpose(0, 2, 1, 3).copy()
    x, w = te.placeholder(data.shape, "uint8", "x"), te.placeholder(packed.shape, "int8", "w")
    out = topi.x86.dense_vnni(None, x, w)
    wanted = data.astype("int32") @ weight.astype("int32").T
    np.testing.assert_array_equal(run(out, [x, w], [data, packed]), wanted)
    schedule = te.create_schedule(out.op)
    topi.x86.dense_vnni_schedule(None, schedule, out, out)
    result = tessera.nd.empty(wanted.shape, "int32")
    tessera.build(schedule, [x, w, out], "llvm")(tessera.nd.array(data), tessera.nd.array(packed), result)
    np.testing.assert_array_equal(result.numpy(), wanted)
    with tessera.target.Target("llvm -mcpu=cascadelake"):
        assert topi.x86.check_vnni_applicable(x, te.placeholder((32, 8), "int8"))
    with tessera.target.Target("llvm -mcpu=haswell"):
        assert not topi.x86.check_vnni_applicable(x, te.placeholder((32, 8), "int8"))


def test_blocks_of_textures():
    assert adreno.split_to_chunks(10, 4) == (3, 4, 2) and adreno.get_div(12, 5) == 4
    data = np.random.rand(1, 6, 2, 3).astype("float32")
    x = te.placeholder(data.shape)
    packed = run(adreno.pack_input(x, "NCHW", 1, 2, 4, 2, 2, 3), [x], [data])
    wanted = np.zeros((1, 8, 2, 3), "float32")
    wanted[:, :6] = data
    np.testing.assert_array_equal(packed, wanted.reshape(1, 2, 4, 2, 3).transpose(0, 1, 3, 4, 2))
    assert adreno.expand_spatial_dimensions(9, 9, 3, 3, 1, 1, 0, 1, 1)[2:] == (7, 7)


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
def test_coordinates_of_resizing(mode):
    from tessera.topi import image
    from tessera.topi.testing import get_inx

    out = te.compute((8,), lambda i: tessera.tir.Cast("float32", image.get_inx(i, 4, 8, mode)), name="x")
    np.testing.assert_allclose(run(out, [], []), [get_inx(i, 4, 8, mode) for i in range(8)], 1e-5)
    assert image.can_convert_multiply_to_intdiv(4, 8) and not image.can_convert_multiply_to_intdiv(3, 8)
    assert image.get_2d_indices((0, 1, 2, 3, 4), "NCHW4c") == (0, 1, 2, 3, 4, 0, 0)


def test_transposed_convolutions_by_their_parts():
    data, kernel = np.random.rand(1, 3, 4, 4).astype("float32"), np.random.rand(3, 2, 3, 3).astype("float32")
    x, w = te.placeholder(data.shape, name="x"), te.placeholder(kernel.shape, name="w")
    padded, flipped = topi.nn.conv2d_transpose_nchw_preprocess(x, w, (2, 2), (1, 1), "float32", (1, 1))
    parts = topi.nn.conv2d_nchw(padded, flipped, 1, 0, 1, "float32")
    whole = topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (1, 1))
    np.testing.assert_allclose(run(parts, [x, w], [data, kernel]), run(whole, [x, w], [data, kernel]), 1e-4)


def test_anchors_of_proposals():
    assert topi.vision.generate_anchor(1.0, 8.0, 16) == (-56.0, -56.0, 71.0, 71.0)


def test_unpacked_blocks_and_layouts():
    data = np.random.rand(2, 2, 1, 3, 4, 2).astype("float32")
    x = te.placeholder(data.shape)
    got = run(topi.cuda.unpack_HWNCnc_to_hwnc(x, "float32"), [x], [data])
    np.testing.assert_array_equal(got, data.transpose(0, 1, 2, 4, 3, 5).reshape(2, 2, 4, 6))
    image, kernel = np.random.rand(1, 4, 4, 3).astype("float32"), np.random.rand(3, 2, 3, 3).astype("float32")
    a, w = te.placeholder(image.shape, name="a"), te.placeholder(kernel.shape, name="w")
    by_layout = run(topi.cuda.conv2d_transpose_cudnn(a, w, 2, 1, "float32", layout="NHWC"), [a, w], [image, kernel])
    plain = image.transpose(0, 3, 1, 2).copy()
    b = te.placeholder(plain.shape, name="b")
    wanted = run(topi.nn.conv2d_transpose_nchw(b, w, (2, 2), (1, 1), "float32", (0, 0)), [b, w], [plain, kernel])
    np.testing.assert_allclose(by_layout, wanted.transpose(0, 2, 3, 1), 1e-5)
