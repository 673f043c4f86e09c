"""Names of modules, and ways of calling."""

from __future__ import annotations

from enum import Enum

__all__ = ["CallType", "mangle_module_name"]


class CallType(Enum):
    """How a kernel is called: through the registry, through the C ABI, or by its own arguments."""

    Packed = 0
    CPacked = 1
    Unpacked = 2


def mangle_module_name(mod_name: str | None) -> str:
    """The prefix of the functions of a module of that name: tvmgen_<name>; without a name, tvmgen."""
    prefix = "tvmgen"
    if not mod_name:
        return prefix
    if not mod_name.replace("_", "").isalnum():
        raise ValueError(f"a name of a module has letters, digits and underscores, not {mod_name!r}")
    return f"{prefix}_{mod_name}"
