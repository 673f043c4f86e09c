"""Importers of models of other frameworks."""

from .onnx import from_onnx

__all__ = ["from_onnx"]
