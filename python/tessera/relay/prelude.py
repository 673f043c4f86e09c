"""Lists, options, trees and the usual functions over them."""

from __future__ import annotations

from typing import Any

from ..ir import GlobalTypeVar, GlobalVar, IRModule
from .tensor_arrays import StaticTensorArrayOps, TensorArrayOps
from .ty import Any as AnyExtent

__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps", "get_tensor_array_shape"]

_TYPES = ("List", "Option", "Tree")
_FUNCTIONS = (
    "id",
    "compose",
    "flip",
    "hd",
    "tl",
    "nth",
    "update",
    "map",
    "foldl",
    "foldr",
    "foldr1",
    "concat",
    "filter",
    "zip",
    "rev",
    "map_accuml",
    "map_accumr",
    "unfoldl",
    "unfoldr",
    "sum",
    "length",
    "tmap",
    "size",
    "iterate",
)


class Prelude:
    """A module with the library in it: `p.mod`, and its functions as `p.map`, `p.foldl`, ..."""

    def __init__(self, mod: IRModule | None = None):
        self.mod = mod if mod is not None else IRModule()
        self.load_prelude()

    def load_prelude(self) -> None:
        """Reads the library into the module, if it is not there yet."""
        known = {var.name_hint for var in self.mod.get_global_type_vars()}
        if not known.issuperset(_TYPES):
            self.mod.import_from_std("prelude.rly")
        for name in _FUNCTIONS:
            setattr(self, name, self.mod.get_global_var(name))

    def get_type(self, canonical: str, dtype: str | None = None) -> tuple[Any, ...]:
        """A data type, followed by its constructors; the version of it for tensors of `dtype` where that is given."""
        return self.mod.get_type(canonical if dtype is None else self._tensor_array_name(canonical, dtype))

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The name of a data type."""
        return self.mod.get_global_type_var(name)

    def get_ctor(self, ty_name: str, canonical: str, dtype: str | None = None) -> Any:
        """A constructor of a data type by name, of the type for `dtype` where one is given. `ty_name` may be the full name
        (`get_name` gives it) or the one that `dtype` is added to."""
        if dtype is not None:
            self._tensor_array_name(ty_name, dtype)  # makes the types for it
        known = self.mod.get_type(ty_name) if self._has_type(ty_name) else self.get_type(ty_name, dtype)
        for constructor in known[1:]:
            if constructor.name_hint in (canonical, f"{canonical}_{dtype}"):
                return constructor
        raise Exception(f"could not find {canonical}")

    # ---- arrays of tensors of any shape: see tensor_arrays.py ------------------------------------------------------

    def get_name(self, canonical: str, dtype: str) -> str:
        """The name of the version of a function, or type, for tensors of `dtype`."""
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """The version of a function for tensors of `dtype`, which is put into the module when it is first asked for."""
        return self.mod.get_global_var(self._tensor_array_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Any:
        """A constructor of elements: "tensor_nil", "tensor0" ... "tensor6"."""
        return self.get_ctor("tensor_t", canonical, dtype)

    def _tensor_array_name(self, canonical: str, dtype: str) -> str:
        if not self._has_type(self.get_name("tensor_t", dtype)):
            TensorArrayOps(self, dtype).register()
        return self.get_name(canonical, dtype)

    def _has_type(self, name: str) -> bool:
        return any(known.name_hint == name for known in self.mod.get_global_type_vars())

    # ---- arrays of tensors of one shape ----------------------------------------------------------------------------

    def get_name_static(self, canonical: str, dtype: str, shape: Any, batch_dim: int | None = None) -> str:
        """The name of the version of a function, or type, for tensors of that shape."""
        extents = "_".join("any" if isinstance(extent, AnyExtent) else str(extent) for extent in shape) or "scalar"
        if canonical == "tensor_t":
            return f"static_tensor_{dtype}_{extents}_t"
        has_batch = batch_dim not in (None, 1) and canonical not in ("tensor_constructor", "tensor_nil")
        return f"{canonical}_{dtype}_batch{batch_dim}_{extents}" if has_batch else f"{canonical}_{dtype}_{extents}"

    def get_global_var_static(self, canonical: str, dtype: str, shape: Any, batch_dim: int | None = None) -> GlobalVar:
        """The version of a function that a `StaticTensorArrayOps` registered."""
        return self.mod.get_global_var(self.get_name_static(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Any) -> GlobalTypeVar:
        """The name of the data type for tensors of that shape."""
        return self.mod.get_global_type_var(self.get_name_static(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape: Any) -> Any:
        """A constructor of a data type for tensors of that shape."""
        wanted = self.get_name_static(name, dtype, shape)
        for constructor in self.mod.get_type(self.get_name_static(ty_name, dtype, shape))[1:]:
            if constructor.name_hint == wanted:
                return constructor
        raise Exception(f"could not find {name}")

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Any) -> Any:
        """A constructor of elements: "tensor_nil" or "tensor_constructor"."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)


def get_tensor_array_shape(expr: Any, dtype: str, prelude: Prelude) -> list[Any] | None:
    """The shape of the elements of an array of tensors of one shape; None for other arrays."""
    from . import transform
    from .analysis import free_vars
    from .function import Function

    mod = IRModule(prelude.mod.functions, prelude.mod.type_definitions)
    mod["main"] = Function(free_vars(expr), expr)
    passes: Any = transform
    kind = passes.InferType()(mod)["main"].body.checked_type
    name = str(kind.args[0].func.name_hint) if getattr(kind, "args", None) else ""
    prefix = f"static_tensor_{dtype}_"
    if not name.startswith(prefix):
        return None
    text = name[len(prefix) : -len("_t")]
    if text == "scalar":
        return []
    return [AnyExtent() if part == "any" else int(part) for part in text.split("_")]
