"""Operators that detect objects, compiled and run, against plain loops."""

import numpy as np
import pytest
import tessera
from nn_checks import check, tensor, type_of
from tessera import relay
from tessera.relay import vision

RNG = np.random.default_rng(3)


def boxes(batch, count, classes=3):
    """(class, score, x1, y1, x2, y2) with many overlaps."""
    corner = RNG.uniform(0, 1, (batch, count, 2))
    size = RNG.uniform(0.2, 0.8, (batch, count, 2))
    kind = RNG.integers(-1, classes, (batch, count, 1))
    score = RNG.permutation(batch * count).reshape(batch, count, 1) / (batch * count)
    return np.concatenate([kind, score, corner, corner + size], 2).astype("float32")


@pytest.mark.parametrize("id_index, score_index", [(0, 1), (-1, 1), (0, 2)])
def test_valid_counts(id_index, score_index):
    check(lambda d: vision.get_valid_counts(d, 0.4, id_index, score_index), boxes(2, 9))
    check(lambda d, t: vision.get_valid_counts(d, t, id_index, score_index), boxes(1, 5), np.array(0.5, "float32"))


NMS = [
    {},
    {"iou_threshold": 0.2, "force_suppress": True},
    {"max_output_size": 3},
    {"max_output_size": 0},
    {"top_k": 4},
    {"id_index": -1},
    {"iou_threshold": 0.0},
]


@pytest.mark.parametrize("options", NMS, ids=str)
def test_non_max_suppression(options):
    data = boxes(3, 12)
    counts = np.array([12, 7, 0], "int32")
    indices = np.stack([RNG.permutation(12) for _ in range(3)]).astype("int32")
    check(lambda d, c, i: vision.non_max_suppression(d, c, i, **options), data, counts, indices)
    for bottom in (False, True):
        build = lambda d, c, i: vision.non_max_suppression(
            d, c, i, return_indices=False, invalid_to_bottom=bottom, **options
        )
        check(build, data, counts, indices)


def test_non_max_suppression_after_valid_counts():
    data = boxes(2, 10)
    var = relay.var("x0", shape=data.shape)
    count, valid, indices = vision.get_valid_counts(var, 0.2)
    mod = tessera.IRModule.from_expr(
        relay.Function([var], vision.non_max_suppression(valid, count, indices, return_indices=False))
    )
    out = relay.create_executor("graph", mod, device=tessera.cpu(), target="llvm").evaluate()(data).numpy()
    kept = out[out[:, :, 1] >= 0]
    assert 0 < len(kept) < 20
    assert (kept[:, 1] > 0.2).all()


@pytest.mark.parametrize("output_format", ["onnx", "tensorflow"])
@pytest.mark.parametrize("limits", [(-1, 0.4, 0.1), (2, 0.3, 0.5), (0, 0.5, 0.0), (3, 0.5, 2.0)])
def test_non_max_suppression_of_all_classes(output_format, limits):
    corners = boxes(2, 8)[:, :, 2:]
    scores = (RNG.permutation(2 * 3 * 8).reshape(2, 3, 8) / 48).astype("float32")
    check(lambda b, s: vision.all_class_non_max_suppression(b, s, *limits, output_format), corners, scores)


def those_that_stay(boxes, scores, most, threshold, least):
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area = np.prod(high - low, axis=1)
    stay = []
    for box in np.argsort(-scores, kind="stable"):
        if scores[box] <= least or (most >= 0 and len(stay) >= most):
            continue
        shared = np.prod(np.maximum(np.minimum(high[box], high[stay]) - np.maximum(low[box], low[stay]), 0), axis=1)
        whole = area[box] + area[stay] - shared
        overlap = np.where(whole <= 0, 0, shared / np.where(whole <= 0, 1, whole))
        if not (overlap >= np.float32(threshold)).any():
            stay.append(box)
    return stay


def check_those_that_stay(boxes, scores, limits):
    """`scores`: of each class."""
    b, s = relay.var("b", shape=(1, *boxes.shape)), relay.var("s", shape=(1, *scores.shape))
    body = vision.all_class_non_max_suppression(b, s, *limits).tuple_value
    model = tessera.Model(relay.vm.compile(tessera.IRModule.from_expr(relay.Function([b, s], body)), "llvm"))
    chosen, number = (value.numpy() for value in model.run(boxes[None], scores[None]))
    with np.errstate(invalid="ignore", over="ignore"):
        want = [(0, kind, box) for kind, row in enumerate(scores) for box in those_that_stay(boxes, row, *limits)]
    assert [tuple(row) for row in chosen[: int(number[0])]] == want


def drawn_boxes(random, count, largest=2.0):
    corners = random.uniform(0, 6, (count, 2))
    return np.concatenate([corners, corners + random.uniform(0, largest, (count, 2))], 1).astype("float32")


def drawn_scores(random, classes, count):
    return (random.permutation(classes * count).reshape(classes, count) / (classes * count)).astype("float32")


@pytest.mark.parametrize("limits", [(-1, 0.4, 0.1), (100, 0.5, 0.3), (-1, 0.0, 0.5), (-1, 1.5, 0.0)])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 300, 513, 1100])
def test_boxes_are_compared_with_all_that_stay(count, limits):
    """Many survivors: boxes are compared by vectors, several at once, which has ends of its own."""
    random = np.random.default_rng(count)
    check_those_that_stay(drawn_boxes(random, count), drawn_scores(random, 2, count), limits)


@pytest.mark.parametrize("threshold", [0.4, 0.0, -1.0])
@pytest.mark.parametrize("largest", [0.1, 2.0, 40.0])
def test_boxes_of_many_classes_that_are_moved_apart(largest, threshold):
    """As torchvision suppresses boxes class by class; most pairs are not compared."""
    random = np.random.default_rng(0)
    boxes = drawn_boxes(random, 3000, largest) + 60 * random.integers(0, 20, (3000, 1)).astype("float32")
    check_those_that_stay(boxes, drawn_scores(random, 1, 3000), (-1, threshold, 0.2))


@pytest.mark.parametrize(
    "values", [[np.nan], [np.inf], [-np.inf], [3e38, -3e38], [np.nan, np.inf, -np.inf, 1e30], [7.0]]
)
def test_boxes_anywhere(values):
    """Corners that are no numbers, infinite, far away, in the other order or all the same."""
    random = np.random.default_rng(len(values))
    boxes = drawn_boxes(random, 1500)
    boxes[::7] = boxes[::7][:, [2, 1, 0, 3]]
    for i, value in enumerate(values):
        boxes[5 + i :: 40, i % 4] = value
    check_those_that_stay(boxes, drawn_scores(random, 1, 1500), (-1, 0.3, 0.1))
    check_those_that_stay(np.full((600, 4), values[0], "float32"), drawn_scores(random, 1, 600), (-1, 0.3, 0.1))


def test_anchors():
    x = tensor(1, 3, 4, 5)
    check(lambda d: vision.multibox_prior(d), x)
    check(lambda d: vision.multibox_prior(d, (0.5, 0.2), (1, 2, 0.5), clip=True), x)
    check(lambda d: vision.multibox_prior(d, (0.5,), (1, 3), steps=(0.2, 0.1), offsets=(0.3, 0.6)), x)


@pytest.mark.parametrize("clip", [True, False])
def test_boxes_from_anchors(clip):
    prob = RNG.uniform(0, 1, (2, 4, 6)).astype("float32")
    anchors = boxes(1, 6)[:, :, 2:]
    check(
        lambda p, loc, a: vision.multibox_transform_loc(p, loc, a, clip=clip, threshold=0.6),
        prob,
        tensor(2, 24),
        anchors,
    )


def rois(count, size):
    corner = RNG.uniform(-2, size, (count, 2))
    extent = RNG.uniform(0, size, (count, 2))
    return np.concatenate([RNG.integers(0, 2, (count, 1)), corner, corner + extent], 1).astype("float32")


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("sample_ratio", [-1, 2])
def test_regions_sampled_between_elements(mode, sample_ratio):
    build = lambda layout: lambda d, r: vision.roi_align(d, r, (3, 2), 0.5, sample_ratio, layout, mode)
    regions = rois(5, 14)
    check(build("NCHW"), tensor(2, 3, 7, 8), regions)
    check(build("NHWC"), tensor(2, 7, 8, 3), regions)


def test_greatest_elements_of_regions():
    check(lambda d, r: vision.roi_pool(d, r, (3, 2), 0.5), tensor(2, 3, 7, 8), rois(6, 20))
    check(lambda d, r: vision.roi_pool(d, r, 2, 1.0), tensor(2, 3, 7, 8), rois(6, 7))


@pytest.mark.parametrize("iou_loss", [False, True])
def test_proposals(iou_loss):
    info = np.array([[48, 40, 1.0], [40, 48, 0.5]], "float32")
    options = ((2.0, 4.0), (0.5, 1.0, 2.0), 16, 0.6, 20, 12, 8, iou_loss)
    prob = (RNG.permutation(2 * 12 * 9).reshape(2, 12, 3, 3) / 216).astype("float32")
    check(
        lambda p, b, i: vision.proposal(p, b, i, *options),
        prob,
        tensor(2, 24, 3, 3, low=-0.4, high=0.4),
        info,
        atol=1e-3,
    )


def test_reorganised_channels():
    check(lambda d: vision.yolo_reorg(d, 2), tensor(2, 4, 6, 4))
    check(lambda d: vision.yolo_reorg(d, 1), tensor(1, 2, 3, 4))


X = relay.var("x", shape=(2, 6, 4, 4))
BAD = {
    "boxes of two dimensions": (
        lambda: vision.get_valid_counts(relay.var("d", shape=(3, 6)), 0.1).tuple_value,
        "data must be \\(batch, boxes, values\\)",
    ),
    "score behind the box": (
        lambda: vision.get_valid_counts(relay.var("d", shape=(1, 3, 6)), 0.1, score_index=6).tuple_value,
        "score_index is 6, but a box has only 6 values",
    ),
    "scores of other boxes": (
        lambda: vision.all_class_non_max_suppression(
            relay.var("b", shape=(1, 3, 4)), relay.var("s", shape=(1, 2, 5))
        ).tuple_value,
        "do not fit",
    ),
    "regions of four": (lambda: vision.roi_align(X, relay.var("r", shape=(3, 4)), 2, 1.0), "rois must be"),
    "an unknown mode": (
        lambda: vision.roi_align(X, relay.var("r", shape=(3, 5)), 2, 1.0, mode="sum"),
        "mode is sum, but must be avg or max",
    ),
    "a stride that does not divide": (lambda: vision.yolo_reorg(X, 3), "stride 3 does not divide"),
    "anchors of another number": (
        lambda: vision.proposal(X, X, relay.var("i", shape=(2, 3)), (1.0,), (1.0,), 16, 0.5, 10, 5, 8, False),
        "scales and ratios make 1 anchors",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_call_is_rejected(name):
    build, message = BAD[name]
    with pytest.raises(tessera.error.DiagnosticError, match=message):
        type_of(build())


def test_proposals_of_other_images_are_rejected():
    prob, boxes = relay.var("p", shape=(2, 2, 3, 3)), relay.var("b", shape=(2, 4, 3, 2))
    call = vision.proposal(prob, boxes, relay.var("i", shape=(2, 3)), (1.0,), (1.0,), 16, 0.5, 10, 5, 8, False)
    with pytest.raises(tessera.error.DiagnosticError, match="cls_prob, bbox_pred and im_info .* do not fit"):
        type_of(call)


def test_a_slice_like_a_larger_tensor_is_rejected_at_run_time():
    x, like = relay.var("x", shape=(relay.Any(),)), relay.var("y", shape=(relay.Any(),))
    mod = tessera.IRModule.from_expr(relay.Function([x, like], relay.slice_like(x, like)))
    run = relay.create_executor("vm", mod).evaluate()
    assert run(np.ones(4, "float32"), np.ones(3, "float32")).shape == (3,)
    with pytest.raises(ValueError, match="do not fit together"):
        run(np.ones(3, "float32"), np.ones(4, "float32"))


def test_strides_divide_channels_that_are_known_at_run_time():
    x = relay.var("x", shape=(1, relay.Any(), 4, 4))
    run = relay.create_executor(
        "vm", tessera.IRModule.from_expr(relay.Function([x], vision.yolo_reorg(x, 2)))
    ).evaluate()
    assert run(np.ones((1, 4, 4, 4), "float32")).shape == (1, 16, 2, 2)
    with pytest.raises(ValueError, match="do not fit together"):
        run(np.ones((1, 5, 4, 4), "float32"))
