"""Lists, options, trees and the usual functions over them."""

from __future__ import annotations

from typing import Any

from ..ir import GlobalTypeVar, GlobalVar, IRModule

__all__ = ["Prelude"]

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

    def get_type(self, ty_name: str) -> tuple[Any, ...]:
        """A data type, followed by its constructors."""
        return self.mod.get_type(ty_name)

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The name of a data type."""
        return self.mod.get_global_type_var(name)

    def get_ctor(self, ty_name: str, canonical: str, dtype: str | None = None) -> Any:
        """A constructor of a data type by name, of the type for `dtype` where one is given."""
        type_name = ty_name if dtype is None else self.get_name(ty_name, dtype)
        for constructor in self.mod.get_type(type_name)[1:]:
            if constructor.name_hint in (canonical, f"{canonical}_{dtype}"):
                return constructor
        raise Exception(f"could not find {canonical}")

    def get_name(self, canonical: str, dtype: str) -> str:
        """The name of the version of a function, or type, for tensors of `dtype`."""
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"

    def get_global_var(self, canonical: str, dtype: str) -> GlobalVar:
        """The version of a function for tensors of `dtype`."""
        return self.mod.get_global_var(self.get_name(canonical, dtype))
