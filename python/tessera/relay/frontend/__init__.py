"""Importers of models of other frameworks."""

from .change_datatype import ChangeDatatype
from .onnx import from_onnx

__all__ = ["ChangeDatatype", "from_onnx"]
