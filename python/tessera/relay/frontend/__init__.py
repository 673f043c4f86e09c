"""Importers of models of other frameworks."""

from .change_datatype import ChangeDatatype
from .keras import from_keras
from .mxnet import from_mxnet
from .onnx import from_onnx
from .pytorch import from_pytorch

__all__ = ["ChangeDatatype", "from_keras", "from_mxnet", "from_onnx", "from_pytorch"]
