"""GPUs: cumulative sums and products, and the choice among boxes that overlap, are shared by threads."""

import numpy as np
import pytest
import tessera as tvm
from gpu_checks import DEVICES, build, random, rules, run, var
from tessera import relay
from tessera.contrib import graph_executor

ORDERED = "ordered_by_threads"
SCANS = [((5,), 0), ((3, 4, 5), 1), ((2, 2048), 1), ((2, 2049), 1), ((1, 300_001), 1), ((70, 5000), 1)]
SCANS += [((20_000, 3), 0), ((2, 100, 5000), 1), ((5000, 9), 1)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("shape, axis", SCANS)
def test_cumsum(shape, axis, exclusive, device):
    x = np.random.default_rng(4).integers(-9, 9, shape).astype("int32")
    lib = build(relay.cumsum(var("x", *shape, dtype="int32"), axis=axis, exclusive=exclusive), device)
    assert rules(lib)[0].startswith(ORDERED)
    want = np.cumsum(x, axis=axis)
    np.testing.assert_array_equal(run(lib, device, x=x), want - x if exclusive else want)


@pytest.mark.parametrize("device", DEVICES)
def test_cumsum_of_everything_in_another_type(device):
    x = random(30, 400, dtype="int8")
    lib = build(relay.cumsum(var("x", *x.shape, dtype="int8"), dtype="int64"), device)
    np.testing.assert_array_equal(run(lib, device, x=x), np.cumsum(x.astype("int64")))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-4), ("float16", 2e-3)])
def test_cumsum_of_floats(dtype, tolerance, device):
    x = np.abs(random(3, 6000)).astype(dtype)
    lib = build(relay.cumsum(var("x", *x.shape, dtype=dtype), axis=1), device)
    want = np.cumsum(x.astype("float64"), axis=1)
    np.testing.assert_allclose(run(lib, device, x=x).astype("float64"), want, rtol=tolerance, atol=1e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_cumprod(device):
    x = (1 + random(4, 3000) / 100).astype("float32")
    lib = build(relay.cumprod(var("x", *x.shape), axis=1), device)
    np.testing.assert_allclose(run(lib, device, x=x), np.cumprod(x.astype("float64"), axis=1), rtol=1e-4)


def np_overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.prod(np.maximum(high - low, 0))
    return shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)


def np_nms(boxes, scores, most, limit, least):
    """Rows (image, class, box), by falling score."""
    out = []
    for image in range(scores.shape[0]):
        for kind in range(scores.shape[1]):
            kept = []
            for box in np.argsort(-scores[image, kind], kind="stable"):
                if scores[image, kind, box] <= least or (0 <= most <= len(kept)):
                    break
                if all(np_overlap(boxes[image, box], boxes[image, other]) < limit for other in kept):
                    kept.append(box)
            out += [(image, kind, box) for box in kept]
    return np.array(out, "int64").reshape(-1, 3)


def boxes_of(batch, classes, count):
    rng = np.random.default_rng(count)
    first, size = rng.uniform(0, 100, (batch, count, 2)), rng.uniform(5, 40, (batch, count, 2))
    boxes = np.concatenate([first, first + size], -1).astype("float32")
    return boxes, rng.integers(0, 400, (batch, classes, count)).astype("float32")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("most", [-1, 0, 4])
@pytest.mark.parametrize("sizes", [(1, 1, 300), (2, 3, 65), (1, 2, 1), (1, 1, 32)])
def test_boxes_that_stay(sizes, most, device):
    boxes, scores = boxes_of(*sizes)
    body = relay.vision.all_class_non_max_suppression(
        var("boxes", *boxes.shape), var("scores", *scores.shape), relay.const(most, "int64"), relay.const(0.3), 50.0
    ).astuple()
    lib = build(body, device)
    assert ORDERED in ", ".join(rules(lib))
    module = graph_executor.GraphModule(lib["default"](tvm.device(device, 0)))
    module.run(boxes=tvm.nd.array(boxes), scores=tvm.nd.array(scores))
    rows, count = module.get_output(0).numpy(), int(module.get_output(1).numpy()[0])
    want = np_nms(boxes, scores, most, 0.3, 50.0)
    assert count == len(want)
    np.testing.assert_array_equal(rows[:count], want)
    assert not rows[count:].any()


@pytest.mark.parametrize("device", DEVICES)
def test_boxes_by_image_as_tensorflow_lists_them(device):
    boxes, scores = boxes_of(2, 3, 70)
    body = relay.vision.all_class_non_max_suppression(
        var("boxes", *boxes.shape), var("scores", *scores.shape), -1, 0.3, 50.0, output_format="tensorflow"
    ).astuple()
    module = graph_executor.GraphModule(build(body, device)["default"](tvm.device(device, 0)))
    host = graph_executor.GraphModule(build(body, "llvm")["default"](tvm.cpu()))
    for each in (module, host):
        each.run(boxes=tvm.nd.array(boxes), scores=tvm.nd.array(scores))
    for i in range(3):
        np.testing.assert_array_equal(module.get_output(i).numpy(), host.get_output(i).numpy())
