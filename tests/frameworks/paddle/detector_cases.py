"""Operators of detectors against Paddle, in both forms of its programs; `test_paddle_detectors.py` runs this file by itself."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases import difference
from framework_cases._paddle_program import Program, pairs_of, tensor


def check(operator, inputs, outputs, **attributes):
    for got, want in pairs_of(Program(operator, inputs, dict.fromkeys(outputs, 1), {}, attributes)):
        assert got.shape == want.shape
        assert not want.size or difference(got, want) < 1e-6


HEAD = {"conf_thresh": 0.3, "downsample_ratio": 32, "clip_bbox": True, "scale_x_y": 1.0, "class_num": 3}
HEAD |= {"iou_aware": False, "iou_aware_factor": 0.5, "anchors": [10, 13, 16, 30]}
SIZES = np.array([[128, 160], [100, 90]], "int32")


@pytest.mark.parametrize("changed", [{}, {"clip_bbox": False, "scale_x_y": 1.2, "conf_thresh": 0.01}])
def test_heads_of_yolo(changed):
    check("yolo_box", {"X": tensor(2, 16, 4, 5), "ImgSize": SIZES}, ["Boxes", "Scores"], **{**HEAD, **changed})


def test_heads_of_yolo_that_say_how_well_a_box_fits():
    data = {"X": tensor(1, 18, 3, 3), "ImgSize": SIZES[:1]}
    check("yolo_box", data, ["Boxes", "Scores"], **{**HEAD, "iou_aware": True, "iou_aware_factor": 0.4})


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"background_label": 0, "keep_top_k": -1, "nms_top_k": -1},
        {"normalized": False},
        {"score_threshold": 2.0},
    ],
)
def test_boxes_that_do_not_overlap(changed):
    random = np.random.default_rng(0)
    middle, reach = random.uniform(0.2, 0.8, (2, 30, 2)), random.uniform(0.05, 0.2, (2, 30, 2))
    boxes = np.concatenate([middle - reach, middle + reach], -1).astype("float32")
    scores = random.dirichlet(np.ones(4), (2, 30)).transpose(0, 2, 1).astype("float32").copy()
    usual = {"score_threshold": 0.2, "nms_top_k": 20, "keep_top_k": 10, "nms_threshold": 0.3, "nms_eta": 1.0}
    usual |= {"normalized": True, "background_label": -1}
    data = {"BBoxes": boxes if changed.get("normalized", True) else boxes * 100, "Scores": scores}
    check("multiclass_nms3", data, ["Out", "Index", "NmsRoisNum"], **{**usual, **changed})


@pytest.mark.parametrize("axis", [0, 1])
def test_boxes_relative_to_others(axis):
    prior = tensor(5, 4, low=0, high=1)
    prior[:, 2:] += 1
    data = {"PriorBox": prior, "TargetBox": tensor(3, 5, 4) if axis == 0 else tensor(5, 3, 4)}
    if axis == 0:
        data["PriorBoxVar"] = tensor(5, 4, low=0.1, high=0.3, seed=2)
    variance = [] if axis == 0 else [0.1, 0.1, 0.2, 0.2]
    flags = {"code_type": "decode_center_size", "box_normalized": axis == 0, "axis": axis, "variance": variance}
    check("box_coder", data, ["OutputBox"], **flags)
