"""Layers of SSD against OpenCV's dnn, which reads the same files."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases import difference
from framework_cases._caffe_net import Net, values
from framework_cases.caffe import opencv, run


@pytest.mark.parametrize(
    "parameters",
    [
        "min_size: 6 max_size: 11 aspect_ratio: 2 aspect_ratio: 3 flip: true clip: false "
        "variance: [0.1, 0.1, 0.2, 0.2] offset: 0.5",
        "min_size: 6 aspect_ratio: 2 clip: true step: 4 variance: 0.1",
        "min_size: 6 variance: 0.2 aspect_ratio: 2 flip: false clip: false offset: 0.2",
    ],
)
def test_prior_boxes(parameters):
    net = Net()
    inputs = {"cells": values(1, 2, 3, 4), "image": values(1, 3, 24, 20)}
    for name, value in inputs.items():
        net.input(name, *value.shape)
    net.layer("PriorBox", list(inputs), "boxes", f"prior_box_param {{ {parameters} }}", name="boxes")
    assert difference(run(net, *inputs.values())[0], opencv(net, inputs, ["boxes"])[0]) < 1e-6


@pytest.mark.parametrize(
    ("parameters", "channels"),
    [
        ("across_spatial: false channel_shared: false scale_filler { type: 'constant' value: 20 }", 3),
        ("", 1),
        ("across_spatial: false channel_shared: true eps: 0.1", 1),
    ],
)
def test_the_norm_over_channels(parameters, channels):
    net, x = Net(), values(2, 3, 4, 5)
    net.layer("Normalize", net.input("x", *x.shape), "n", f"norm_param {{ {parameters} }}", [values(channels) + 2], "n")
    assert difference(run(net, x)[0], opencv(net, {"x": x}, ["n"])[0]) < 1e-6


def in_order(rows):
    """Those that were found, by image, class and falling score, as Caffe writes them; OpenCV sorts by score alone."""
    found = rows[0, 0][rows[0, 0, :, 2] > 0]
    return found[np.lexsort((-found[:, 2], found[:, 1], found[:, 0]))]


@pytest.mark.parametrize(
    ("shared", "code", "background", "least", "looked_at", "kept", "images", "boxes"),
    [
        (True, "CENTER_SIZE", 0, 0.3, 10, 7, 1, 24),
        (False, "CENTER_SIZE", 0, 0.01, 400, 200, 2, 24),
        (True, "CENTER_SIZE", 2, 0.2, 100, 50, 3, 200),
        (False, "CORNER", 0, 0.2, 5, 20, 2, 24),
        (True, "CENTER_SIZE", 0, 0.9999, 5, 20, 2, 24),
    ],
)
def test_what_is_detected(shared, code, background, least, looked_at, kept, images, boxes):
    random, classes, net = np.random.default_rng(0), 4, Net()
    middle, reach = random.uniform(0.2, 0.8, (boxes, 2)), random.uniform(0.05, 0.2, (boxes, 2))
    corners = np.concatenate([middle - reach, middle + reach], 1).reshape(-1)
    inputs = {
        "moves": random.normal(size=(images, boxes * 4 * (1 if shared else classes))) / 2,
        "scores": random.dirichlet(np.ones(classes), (images, boxes)).reshape(images, -1),
        "boxes": np.stack([corners, np.tile([0.1, 0.1, 0.2, 0.2], boxes)])[None],
    }
    inputs = {name: value.astype("float32") for name, value in inputs.items()}
    parameters = (
        f"detection_output_param {{ num_classes: {classes} share_location: {str(shared).lower()} code_type: {code} "
        f"background_label_id: {background} confidence_threshold: {least} keep_top_k: {kept} "
        f"nms_param {{ nms_threshold: 0.45 top_k: {looked_at} }} }}"
    )
    names = [net.input(name, *value.shape) for name, value in inputs.items()]
    net.layer("DetectionOutput", names, "found", parameters, name="found")
    (rows,) = run(net, *inputs.values())
    got, want = in_order(rows), in_order(opencv(net, inputs, ["found"])[0])
    assert got.shape == want.shape and (not want.size or difference(got, want) < 1e-6)
    np.testing.assert_array_equal(rows[0, 0, : len(got)], got)
    assert not rows[0, 0, len(got) :].any()
