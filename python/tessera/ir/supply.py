"""Names that are not taken yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .expr import GlobalVar
from .module import IRModule

__all__ = ["GlobalVarSupply", "NameSupply"]


class NameSupply:
    """Gives names that it gave to nobody before: f, f_1, f_2. A prefix stands before all of them."""

    def __init__(self, prefix: str = ""):
        self._prefix = prefix
        self._counts: dict[str, int] = {}

    def fresh_name(self, name: str, add_prefix: bool = True) -> str:
        """A new name that begins as `name` does."""
        wanted = self._full(name, add_prefix)
        out = wanted
        while out in self._counts:
            self._counts[wanted] += 1
            out = f"{wanted}_{self._counts[wanted]}"
        self._counts[out] = 0
        return out

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Takes a name, which may be taken already."""
        full = self._full(name, add_prefix)
        self._counts.setdefault(full, 0)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """True when the name is taken."""
        return self._full(name, add_prefix) in self._counts

    def _full(self, name: str, add_prefix: bool) -> str:
        full = f"{self._prefix}_{name}" if add_prefix and self._prefix else name
        return full.replace(".", "_")


class GlobalVarSupply:
    """Gives global variables, one for each name; those of the modules that it is made of are taken."""

    def __init__(self, value: NameSupply | IRModule | Sequence[IRModule] | None = None):
        self._names = value if isinstance(value, NameSupply) else NameSupply()
        self._vars: dict[str, GlobalVar] = {}
        modules = [value] if isinstance(value, IRModule) else [] if isinstance(value, NameSupply) else value or []
        for module in modules:
            for var in module.get_global_vars():
                self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A new variable of a new name."""
        return self._keep(GlobalVar(self._names.fresh_name(name, add_prefix)))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The one variable of that name."""
        full = self._names.reserve_name(name, add_prefix)
        return self._vars.get(full) or self._keep(GlobalVar(full))

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Takes a variable. Another one of its name is an error, or stays where `allow_conflict` is set."""
        name = self._names.reserve_name(global_var.name_hint, False)
        known: Any = self._vars.get(name)
        if known is None:
            self._keep(global_var)
        elif not known.same_as(global_var) and not allow_conflict:
            raise ValueError(f"there is another global variable {name} already")

    def _keep(self, var: GlobalVar) -> GlobalVar:
        self._vars[str(var.name_hint).replace(".", "_")] = var
        return var
