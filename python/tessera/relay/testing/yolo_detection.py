"""Boxes of YOLO networks of Darknet: from outputs of the network to names and positions in the image."""

from __future__ import annotations

import importlib
import math
from functools import cmp_to_key
from typing import Any

import numpy as np

__all__ = [
    "do_nms_sort",
    "draw_detections",
    "fill_network_boxes",
    "get_detections",
    "nms_comparator",
    "show_detections",
]


class _Box:
    """Center, width and height, in fractions of the image."""

    def __init__(self, x: float = 0.0, y: float = 0.0, w: float = 0.0, h: float = 0.0):
        self.x, self.y, self.w, self.h = x, y, w, h


def _overlap(x1: float, w1: float, x2: float, w2: float) -> float:
    return min(x1 + w1 / 2, x2 + w2 / 2) - max(x1 - w1 / 2, x2 - w2 / 2)


def _intersection(a: _Box, b: _Box) -> float:
    width, height = _overlap(a.x, a.w, b.x, b.w), _overlap(a.y, a.h, b.y, b.h)
    return width * height if width > 0 and height > 0 else 0.0


def _iou(a: _Box, b: _Box) -> float:
    both = _intersection(a, b)
    either = a.w * a.h + b.w * b.h - both
    return both / either if either else 0.0


def _yolo_box(x: Any, biases: Any, mask: int, location: tuple[int, int, int], size: tuple[int, int], net: Any) -> _Box:
    """Box of an anchor: a cell of the grid, and the anchor's width and height in pixels of the network's input."""
    part, row, column = location
    height, width = size
    net_h, net_w = net
    return _Box(
        (column + x[part, 0, row, column]) / width,
        (row + x[part, 1, row, column]) / height,
        math.exp(x[part, 2, row, column]) * biases[2 * mask] / net_w,
        math.exp(x[part, 3, row, column]) * biases[2 * mask + 1] / net_h,
    )


def _region_box(x: Any, biases: Any, part: int, row: int, column: int, size: tuple[int, int]) -> _Box:
    """Box of an anchor whose width and height are in cells of the grid."""
    height, width = size
    return _Box(
        (column + x[part, 0, row, column]) / width,
        (row + x[part, 1, row, column]) / height,
        math.exp(x[part, 2, row, column]) * biases[2 * part] / width,
        math.exp(x[part, 3, row, column]) * biases[2 * part + 1] / height,
    )


def _correct(dets: list[dict], im_shape: Any, net_shape: Any, relative: bool) -> None:
    """From the network's input, into which the image was fitted with borders, to the image."""
    net_h, net_w = net_shape
    im_h, im_w = im_shape
    if net_w / im_w < net_h / im_h:
        new_w, new_h = net_w, im_h * net_w // im_w
    else:
        new_w, new_h = im_w * net_h // im_h, net_h
    for det in dets:
        box = det["bbox"]
        box.x = (box.x - (net_w - new_w) / 2 / net_w) / (new_w / net_w)
        box.y = (box.y - (net_h - new_h) / 2 / net_h) / (new_h / net_h)
        box.w *= net_w / new_w
        box.h *= net_h / new_h
        if not relative:
            box.x, box.w = box.x * im_w, box.w * im_w
            box.y, box.h = box.y * im_h, box.h * im_h


def _layer_boxes(layer: dict, net_shape: Any, thresh: float) -> list[dict]:
    """The boxes of an output whose objectness is above the threshold."""
    data = layer["output"]
    parts, entries, height, width = data.shape
    classes = layer["classes"]
    is_yolo = layer["type"] == "Yolo"
    dets = []
    for part, row, column in zip(*np.where(data[:, 4] > thresh)):
        where = int(part), int(row), int(column)
        if is_yolo:
            box = _yolo_box(data, layer["biases"], int(layer["mask"][part]), where, (height, width), net_shape)
        else:
            box = _region_box(data, layer["biases"], *where, (height, width))
        objectness = float(data[part, 4, row, column])
        scores = objectness * data[part, 5 : 5 + classes, row, column]
        dets.append(
            {
                "bbox": box,
                "classes": classes,
                "prob": [float(score) if score > thresh else 0.0 for score in scores],
                "objectness": objectness,
                "sort_class": -1,
                "mask": None,
            }
        )
    del entries, parts
    return dets


def fill_network_boxes(net_shape: Any, im_shape: Any, thresh: float, relative: bool, tvm_out: list[dict]) -> list[dict]:
    """The boxes of all outputs of a network.

    `net_shape` and `im_shape` are (height, width). An output has "type" ("Yolo" or "Region"), "classes", "biases", with Yolo "mask",
    and "output" (anchors, 5 + classes, rows, columns). A box has "bbox" and the scores of the classes, "prob".
    """
    dets = []
    for layer in tvm_out:
        if layer["type"] not in ("Yolo", "Region"):
            raise ValueError(f"a layer is Yolo or Region, not {layer['type']}")
        dets += _layer_boxes(layer, net_shape, thresh)
    _correct(dets, im_shape, net_shape, bool(relative))
    return dets


def nms_comparator(a: dict, b: dict) -> int:
    """Below zero when `a` scores more than `b` for the class of `b`, or in objectness."""
    which = b["sort_class"]
    difference = a["prob"][which] - b["prob"][which] if which >= 0 else a["objectness"] - b["objectness"]
    return -1 if difference > 0 else 1 if difference < 0 else 0


def do_nms_sort(dets: list[dict], classes: int, thresh: float) -> None:
    """Of the boxes of a class that overlap by more than the threshold, all but the best lose their score."""
    dets[:] = [det for det in dets if det["objectness"] != 0]
    for which in range(classes):
        for det in dets:
            det["sort_class"] = which
        dets.sort(key=cmp_to_key(nms_comparator))
        for i, best in enumerate(dets):
            if best["prob"][which] == 0:
                continue
            for other in dets[i + 1 :]:
                if _iou(best["bbox"], other["bbox"]) > thresh:
                    other["prob"][which] = 0.0


def get_detections(im: Any, det: dict, thresh: float, names: list[str], classes: int) -> tuple[list[str], int]:
    """The names and scores of a box's classes, and its best class; -1 where none is above the threshold."""
    del im
    found = [(i, det["prob"][i]) for i in range(classes) if det["prob"][i] > thresh]
    labels = [f"{names[i]} {score:.1%}" for i, score in found]
    return labels, max(found, key=lambda pair: pair[1])[0] if found else -1


def _corners(det: dict, im: Any) -> tuple[int, int, int, int]:
    """Left, top, right and bottom in pixels of an image (channels, rows, columns)."""
    _, height, width = im.shape
    box = det["bbox"]
    left, right = max(int((box.x - box.w / 2) * width), 0), min(int((box.x + box.w / 2) * width), width - 1)
    top, bottom = max(int((box.y - box.h / 2) * height), 0), min(int((box.y + box.h / 2) * height), height - 1)
    return left, top, right, bottom


def show_detections(im: Any, dets: list[dict], thresh: float, names: list[str], classes: int) -> None:
    """Prints the names of boxes and where they are."""
    for det in dets:
        labels, category = get_detections(im, det, thresh, names, classes)
        if category < 0:
            continue
        left, top, right, bottom = _corners(det, im)
        print(f"class:{labels} left:{left} right:{right} top:{top} bottom:{bottom}")


def draw_detections(
    font_path: str, im: np.ndarray, dets: list[dict], thresh: float, names: list[str], classes: int
) -> None:
    """Draws frames of boxes into an image (channels, rows, columns); with Pillow also their names, in the font of a file."""
    _, height, _ = im.shape
    for det in dets:
        labels, category = get_detections(im, det, thresh, names, classes)
        if category < 0:
            continue
        left, top, right, bottom = _corners(det, im)
        color = np.array([((category * 123457 >> shift) % 256) / 255 for shift in (0, 8, 16)], im.dtype)
        thickness = max(int(height * 0.006), 1)
        for i in range(thickness):
            t, b, l, r = min(top + i, bottom), max(bottom - i, top), min(left + i, right), max(right - i, left)
            im[:3, [t, b], l : r + 1] = color[:, None, None]
            im[:3, t : b + 1, [l, r]] = color[:, None, None]
        _draw_label(font_path, im, (left, top), ", ".join(labels), color)


def _draw_label(font_path: str, im: np.ndarray, corner: tuple[int, int], text: str, color: np.ndarray) -> None:
    try:
        pil, draw, fonts = (importlib.import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont"))
    except ImportError:
        return  # frames alone
    font = fonts.truetype(font_path, max(int(im.shape[1] * 0.03), 8))
    drawn = pil.fromarray((im.transpose(1, 2, 0) * 255).astype("uint8"))
    draw.Draw(drawn).text(corner, text, font=font, fill=tuple(int(value * 255) for value in color))
    im[:] = np.asarray(drawn).transpose(2, 0, 1) / 255
