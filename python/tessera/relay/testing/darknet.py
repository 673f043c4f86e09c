"""Layers and images of Darknet."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

__all__ = ["ACTIVATION", "LAYERTYPE", "convert_image", "load_image", "load_image_color"]


def _codes(name: str, doc: str, names: str) -> Any:
    return type(name, (), {"__doc__": doc, "__module__": __name__, **{x: i for i, x in enumerate(names.split())}})


LAYERTYPE = _codes(
    "LAYERTYPE",
    "Darknet's codes of layers.",
    "CONVOLUTIONAL DECONVOLUTIONAL CONNECTED MAXPOOL SOFTMAX DETECTION DROPOUT CROP ROUTE COST NORMALIZATION AVGPOOL LOCAL "
    "SHORTCUT ACTIVE RNN GRU LSTM CRNN BATCHNORM NETWORK XNOR REGION YOLO REORG UPSAMPLE LOGXENT L2NORM BLANK",
)
ACTIVATION = _codes(
    "ACTIVATION",
    "Darknet's codes of activations.",
    "LOGISTIC RELU RELIE LINEAR RAMP TANH PLSE LEAKY ELU LOGGY STAIR HARDTAN LHTAN",
)


def convert_image(image: np.ndarray) -> np.ndarray:
    """An image of bytes (rows, columns, blue green red) as floats from 0 to 1 (red green blue, rows, columns)."""
    return np.flip(np.asarray(image).transpose(2, 0, 1), 0).astype("float32") / 255


def _resized(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """Linear in both directions, the corners onto the corners."""
    _, rows, columns = image.shape
    y = np.linspace(0, rows - 1, height) if height > 1 else np.zeros(1)
    x = np.linspace(0, columns - 1, width) if width > 1 else np.zeros(1)
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    bottom, right = np.minimum(top + 1, rows - 1), np.minimum(left + 1, columns - 1)
    dy, dx = (y - top)[:, None], x - left
    upper = image[:, top][:, :, left] * (1 - dx) + image[:, top][:, :, right] * dx
    lower = image[:, bottom][:, :, left] * (1 - dx) + image[:, bottom][:, :, right] * dx
    return (upper * (1 - dy) + lower * dy).astype("float32")


def _letterbox(image: np.ndarray, width: int, height: int) -> np.ndarray:
    """The image fitted into a size, its sides in proportion, on gray."""
    _, rows, columns = image.shape
    if width / columns < height / rows:
        new_w, new_h = width, rows * width // columns
    else:
        new_w, new_h = columns * height // rows, height
    out = np.full((image.shape[0], height, width), 0.5, "float32")
    top, left = (height - new_h) // 2, (width - new_w) // 2
    out[:, top : top + new_h, left : left + new_w] = _resized(image, new_w, new_h)
    return out


def load_image_color(test_image: Any) -> np.ndarray:
    """The image of a file, as `convert_image` gives it."""
    try:
        return convert_image(importlib.import_module("cv2").imread(str(test_image)))
    except ImportError:
        image = np.asarray(importlib.import_module("PIL.Image").open(test_image).convert("RGB"))
        return convert_image(image[:, :, ::-1])


def load_image(img: Any, resize_width: int, resize_height: int) -> np.ndarray:
    """The image of a file, fitted into a network's input."""
    return _letterbox(load_image_color(img), resize_width, resize_height)
