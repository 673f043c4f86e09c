"""The border between Python and the core: the registry of functions, object classes and errors."""

from .base import TVMError, register_error
from .registry import (
    _init_api,
    extract_ext_funcs,
    get_global_func,
    get_object_type_index,
    lazy_api,
    list_global_func_names,
    register_extension,
    register_func,
    register_object,
    remove_global_func,
)

__all__ = [
    "TVMError",
    "_init_api",
    "extract_ext_funcs",
    "get_global_func",
    "get_object_type_index",
    "lazy_api",
    "list_global_func_names",
    "register_error",
    "register_extension",
    "register_func",
    "register_object",
    "remove_global_func",
]
