"""What a rule of layouts gives (`register_infer_correct_layout`)."""

from __future__ import annotations

from typing import Any

from ..._ffi.registry import register_object
from ...runtime.object import Object
from . import _ffi_api

__all__ = ["InferCorrectLayoutOutput"]


@register_object("relay._transform.InferCorrectLayoutOutput")
class InferCorrectLayoutOutput(Object):
    """The layouts of inputs and outputs that a call takes, and its attributes then."""

    def __init__(self, input_layouts: Any, output_layouts: Any, new_attrs: Any):
        self.__init_handle_by_constructor__(_ffi_api.InferCorrectLayoutOutput, input_layouts, output_layouts, new_attrs)
