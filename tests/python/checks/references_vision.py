"""What the operators that detect objects compute, in plain NumPy and loops: name -> function of (attrs, *inputs)."""

import math

import numpy as np
from tessera.topi import testing

__all__ = ["VISION_REFERENCES"]


def _reals(values):
    return [float(v) for v in values]


def overlap(a, b):
    low_a, high_a = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    low_b, high_b = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    shared = np.prod(np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0))
    all_of_it = np.prod(high_a - low_a) + np.prod(high_b - low_b) - shared
    return shared / all_of_it if all_of_it > 0 else 0.0


def get_valid_counts(attrs, data, threshold):
    counts = np.zeros(data.shape[0], "int32")
    boxes, indices = np.full_like(data, -1), np.full(data.shape[:2], -1, "int32")
    for i, image in enumerate(data):
        for j, box in enumerate(image):
            if box[attrs.score_index] > threshold and (attrs.id_index < 0 or box[attrs.id_index] >= 0):
                boxes[i, counts[i]], indices[i, counts[i]] = box, j
                counts[i] += 1
    return [counts, boxes, indices]


def non_max_suppression(attrs, data, valid_count, indices, most, threshold):
    out, chosen = np.full_like(data, -1), np.full(data.shape[:2], -1, "int32")
    start, score, kind = attrs.coord_start, attrs.score_index, attrs.id_index
    for i, image in enumerate(data):
        n = int(valid_count[i])
        if threshold <= 0:
            out[i, :n], chosen[i, :n] = image[:n], np.arange(n)
            continue
        order = np.argsort(-image[:n, score], kind="stable")
        if attrs.top_k > 0:
            order = order[: attrs.top_k]
        kept = []
        for j, row in enumerate(order):
            box = image[row]
            suppressed = False
            if len(kept) == int(most):
                continue
            if box[score] > 0:
                for other in kept:
                    is_same = attrs.force_suppress or kind < 0 or image[other][kind] == box[kind]
                    has_kind = kind < 0 or image[other][kind] >= 0
                    a, b = box[start : start + 4], image[other][start : start + 4]
                    if has_kind and is_same and overlap(a, b) >= threshold:
                        suppressed = True
                if suppressed:
                    continue
                kept.append(row)
            out[i, j], chosen[i, j] = box, row
    if attrs.return_indices:
        rows, counts = np.full(data.shape[:2], -1, "int32"), np.zeros((data.shape[0], 1), "int32")
        for i, row in enumerate(chosen):
            good = [indices[i, index] for index in row if index >= 0]
            rows[i, : len(good)], counts[i, 0] = good, len(good)
        return [rows, counts]
    if attrs.invalid_to_bottom:
        moved = np.full_like(out, -1)
        for i, image in enumerate(out):
            good = image[image[:, 0] >= 0]
            moved[i, : len(good)] = good
        return moved
    return out


def all_class_non_max_suppression(attrs, boxes, scores, most, threshold, least):
    batch, classes, count = scores.shape
    chosen = []
    for b in range(batch):
        for c in range(classes):
            kept = []
            for box in np.argsort(-scores[b, c], kind="stable"):
                if scores[b, c, box] <= least or (most >= 0 and len(kept) >= most):
                    continue
                if all(overlap(boxes[b, box], boxes[b, other]) < threshold for other in kept):
                    kept.append(box)
            chosen += [(b, c, box) for box in kept]
    if attrs.output_format == "onnx":
        rows = np.zeros((batch * classes * count, 3), "int64")
        if chosen:
            rows[: len(chosen)] = chosen
        return [rows, np.array([len(chosen)], "int64")]
    rows, values = np.zeros((batch, classes * count, 2), "int64"), np.zeros((batch, classes * count), "float32")
    counts = np.zeros(batch, "int64")
    for b in range(batch):
        mine = [(c, box) for image, c, box in chosen if image == b]
        counts[b] = len(mine)
        for i, (c, box) in enumerate(mine):
            rows[b, i], values[b, i] = (c, box), scores[b, c, box]
    return [rows, values, counts]


def multibox_prior(attrs, data):
    height, width = data.shape[2:]
    sizes, ratios = _reals(attrs.sizes), _reals(attrs.ratios)
    steps = [s if s > 0 else 1 / n for s, n in zip(_reals(attrs.steps), (height, width))]
    offsets = _reals(attrs.offsets)
    shapes = [(s, s) for s in sizes] + [(sizes[0] * math.sqrt(r), sizes[0] / math.sqrt(r)) for r in ratios[1:]]
    out = []
    for y in range(height):
        for x in range(width):
            cy, cx = (y + offsets[0]) * steps[0], (x + offsets[1]) * steps[1]
            for w, h in shapes:
                w = w * height / width
                out.append([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2])
    out = np.array([out], data.dtype)
    return np.clip(out, 0, 1) if attrs.clip else out


def multibox_transform_loc(attrs, prob, loc, anchor):
    batch, _, anchors = prob.shape
    out, counts = np.full((batch, anchors, 6), -1, loc.dtype), np.zeros(batch, "int32")
    variances = _reals(attrs.variances)
    for b in range(batch):
        for j in range(anchors):
            best = int(np.argmax(prob[b, 1:, j])) + 1
            if prob[b, best, j] < attrs.threshold:
                continue
            x1, y1, x2, y2 = anchor[0, j]
            px, py, pw, ph = loc[b, 4 * j : 4 * j + 4] * variances
            w, h = x2 - x1, y2 - y1
            cx, cy = px * w + (x1 + x2) / 2, py * h + (y1 + y2) / 2
            w, h = math.exp(pw) * w / 2, math.exp(ph) * h / 2
            box = np.array([cx - w, cy - h, cx + w, cy + h])
            out[b, counts[b]] = [best - 1, prob[b, best, j], *(np.clip(box, 0, 1) if attrs.clip else box)]
            counts[b] += 1
    return [out, counts]


def roi_align(attrs, data, rois):
    function = testing.roi_align_nhwc_python if attrs.layout == "NHWC" else testing.roi_align_nchw_python
    return function(data, rois, attrs.pooled_size, attrs.spatial_scale, attrs.sample_ratio, str(attrs.mode))


def roi_pool(attrs, data, rois):
    return testing.roi_pool_nchw_python(data, rois, attrs.pooled_size, attrs.spatial_scale)


def proposal(attrs, prob, pred, info):
    batch, _, height, width = prob.shape
    scales, ratios, stride = _reals(attrs.scales), _reals(attrs.ratios), attrs.feature_stride
    count = len(scales) * len(ratios)
    out = np.zeros((batch, attrs.rpn_post_nms_top_n, 5), prob.dtype)
    for b in range(batch):
        boxes = []
        limit = np.array([info[b, 1], info[b, 0]] * 2) - 1
        for y in range(height):
            for x in range(width):
                for k in range(count):
                    ratio, scale = ratios[k // len(scales)], scales[k % len(scales)]
                    w = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
                    h = math.floor(w * ratio + 0.5) * scale
                    w *= scale
                    centre = 0.5 * (stride - 1) + np.array([x, y]) * stride
                    size = np.array([w, h])
                    delta = pred[b, 4 * k : 4 * k + 4, y, x]
                    if attrs.iou_loss:
                        low, high = centre - 0.5 * (size - 1) + delta[:2], centre + 0.5 * (size - 1) + delta[2:]
                    else:
                        middle, grown = delta[:2] * size + centre, np.exp(delta[2:]) * size
                        low, high = middle - 0.5 * (grown - 1), middle + 0.5 * (grown - 1)
                    box = np.clip([*low, *high], 0, limit)
                    score = prob[b, count + k, y, x]
                    if y >= int(info[b, 0] / stride) or x >= int(info[b, 1] / stride):
                        score = -1
                    least = info[b, 2] * attrs.rpn_min_size
                    if min(box[2:] - box[:2] + 1) < least:
                        box, score = box + np.array([-1, -1, 1, 1]) * least / 2, -1
                    boxes.append((score, box))
        order = sorted(range(len(boxes)), key=lambda i: -boxes[i][0])
        order = order[: attrs.rpn_pre_nms_top_n] if attrs.rpn_pre_nms_top_n > 0 else order
        kept = []
        for i in order:
            a = boxes[i][1] + np.array([0, 0, 1, 1])
            if all(overlap(a, boxes[j][1] + np.array([0, 0, 1, 1])) <= attrs.threshold for j in kept):
                kept.append(i)
        for i in range(attrs.rpn_post_nms_top_n):
            out[b, i] = [b, *boxes[kept[i % len(kept)]][1]]
    return out.reshape(-1, 5)


def yolo_reorg(attrs, data):
    return testing.reorg_python(data, int(attrs.stride))


VISION_REFERENCES = {
    f"vision.{function.__name__}": function
    for function in (
        all_class_non_max_suppression,
        get_valid_counts,
        multibox_prior,
        multibox_transform_loc,
        non_max_suppression,
        proposal,
        roi_align,
        roi_pool,
        yolo_reorg,
    )
}
