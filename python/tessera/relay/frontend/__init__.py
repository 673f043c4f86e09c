"""Importers of models of other frameworks."""

from . import tensorflow2, tensorflow_parser
from .caffe import from_caffe
from .caffe2 import from_caffe2
from .change_datatype import ChangeDatatype
from .coreml import from_coreml
from .darknet import from_darknet
from .keras import from_keras
from .mxnet import from_mxnet
from .onnx import from_onnx
from .paddlepaddle import from_paddle
from .pytorch import from_pytorch
from .tensorflow import from_tensorflow
from .tflite import from_tflite

__all__ = [
    "ChangeDatatype",
    "from_caffe",
    "from_caffe2",
    "from_coreml",
    "from_darknet",
    "from_keras",
    "from_mxnet",
    "from_onnx",
    "from_paddle",
    "from_pytorch",
    "from_tensorflow",
    "from_tflite",
]
