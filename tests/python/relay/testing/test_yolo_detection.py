"""Boxes of YOLO from outputs of the network, and images of Darknet."""

import numpy as np
import pytest
from tessera.relay.testing import darknet, yolo_detection


def layer(kind="Yolo"):
    output = np.zeros((2, 7, 4, 4), "float32")  # 2 anchors, 2 classes, a grid of 4 x 4
    output[1, :, 2, 1] = [0.5, 0.25, 0, 0, 0.9, 0.8, 0.1]
    return {"type": kind, "output": output, "classes": 2, "biases": [1.0, 2.0, 8.0, 16.0], "mask": [0, 1]}


def test_a_cell_above_the_threshold_is_a_box():
    (box,) = yolo_detection.fill_network_boxes((32, 32), (32, 32), 0.5, True, [layer()])
    where = box["bbox"]
    assert (where.x, where.y) == (1.5 / 4, 2.25 / 4) and (where.w, where.h) == (8 / 32, 16 / 32)
    np.testing.assert_allclose(box["prob"], [0.72, 0], 1e-5)
    (box,) = yolo_detection.fill_network_boxes((32, 32), (32, 32), 0.5, True, [layer("Region")])
    assert (box["bbox"].w, box["bbox"].h) == (8 / 4, 16 / 4)
    with pytest.raises(ValueError, match="Yolo or Region, not Other"):
        yolo_detection.fill_network_boxes((32, 32), (32, 32), 0.5, True, [layer("Other")])


def test_borders_of_the_input_are_taken_off():
    (box,) = yolo_detection.fill_network_boxes((32, 32), (16, 32), 0.5, True, [layer()])
    assert box["bbox"].x == 1.5 / 4 and box["bbox"].y == (2.25 / 4 - 0.25) * 2 and box["bbox"].h == 1.0
    (pixels,) = yolo_detection.fill_network_boxes((32, 32), (16, 32), 0.5, False, [layer()])
    assert pixels["bbox"].x == 1.5 / 4 * 32 and pixels["bbox"].h == 16


def detection(x, score, objectness=0.9):
    box = yolo_detection._Box(x, 0.5, 0.4, 0.4)
    return {"bbox": box, "classes": 1, "prob": [score], "objectness": objectness, "sort_class": -1, "mask": None}


def test_of_boxes_that_overlap_the_best_stays():
    dets = [detection(0.5, 0.6), detection(0.52, 0.9), detection(0.05, 0.5), detection(0.5, 0.9, objectness=0)]
    yolo_detection.do_nms_sort(dets, 1, 0.5)
    assert sorted(d["prob"][0] for d in dets) == [0.0, 0.5, 0.9]


def test_boxes_are_printed_and_drawn(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)  # frames without names
    image = np.zeros((3, 20, 20), "float32")
    yolo_detection.show_detections(image, [detection(0.5, 0.9), detection(0.5, 0.1)], 0.5, ["cat"], 1)
    assert capsys.readouterr().out == "class:['cat 90.0%'] left:6 right:14 top:6 bottom:14\n"
    labelled = detection(0.5, 0.9)
    labelled["prob"] = [0.0, 0.9]
    yolo_detection.draw_detections("font", image, [labelled], 0.5, ["cat", "dog"], 2)
    assert image[:, 6, 6:15].any(0).all() and not image[:, 8, 8].any() and not image[:, 2, 2].any()


def test_images_are_fitted_with_borders(monkeypatch):
    picture = np.zeros((2, 4, 3), "uint8")
    picture[:, :, 0] = 255  # blue comes first
    converted = darknet.convert_image(picture)
    assert converted.shape == (3, 2, 4) and converted[2].min() == 1 and converted[0].max() == 0
    monkeypatch.setattr(darknet, "load_image_color", lambda path: converted)
    fitted = darknet.load_image("x.png", 8, 8)
    assert fitted.shape == (3, 8, 8) and (fitted[:, 0] == 0.5).all() and fitted[2, 4, 4] == 1 and fitted[0, 4, 4] == 0


def test_codes_of_darknet():
    assert (darknet.LAYERTYPE.CONVOLUTIONAL, darknet.LAYERTYPE.REGION, darknet.LAYERTYPE.YOLO) == (0, 22, 23)
    assert darknet.ACTIVATION.LEAKY == 7
