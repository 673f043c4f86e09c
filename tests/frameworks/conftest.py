"""A folder of tests is collected where its framework is installed."""

import importlib.util
from pathlib import Path

NEEDS = {
    "caffe": "cv2",
    "coreml": "coremltools",
    "darknet": "cv2",
    "keras": "keras",
    "mxnet": "mxnet",
    "paddle": "paddle",
    "pytorch": "torch",
    "tensorflow": "tensorflow",
    "tflite": "tensorflow",
}


def is_installed(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # a folder of this name alone has no origin


def pytest_ignore_collect(collection_path: Path):
    needed = NEEDS.get(collection_path.name) if collection_path.is_dir() else None
    return True if needed and not is_installed(needed) else None
