"""External code generators that a list of targets may name: "cmsis-nn, c" partitions the model before it is compiled."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ...ir import IRModule
from .exceptions import TVMCException, TVMCImportError

__all__ = ["get_codegen_by_target", "get_codegen_names"]

#: Name in a target: the key of its options, whether options are always given, and module and function that partition.
_CODEGENS: dict[str, tuple[str | None, bool, str, str]] = {
    "compute-library": (None, False, "arm_compute_lib", "partition_for_arm_compute_lib"),
    "cmsis-nn": ("relay.ext.cmsisnn.options", False, "cmsisnn", "partition_for_cmsisnn"),
    "ethos-n": ("relay.ext.ethos-n.options", False, "ethosn", "partition_for_ethosn"),
    "ethos-u": ("relay.ext.ethos-u.options", True, "ethosu", "partition_for_ethosu"),
    "bnns": (None, False, "bnns", "partition_for_bnns"),
    "vitis-ai": ("relay.ext.vitis_ai.options", False, "vitis_ai", "partition_for_vitis_ai"),
    "clml": (None, False, "clml", "partition_for_clml"),
    "dnnl": (None, False, "dnnl", "partition_for_dnnl"),
}


def get_codegen_names() -> list[str]:
    """The external code generators that targets may name."""
    return list(_CODEGENS)


def get_codegen_by_target(name: str) -> dict[str, Any]:
    """What is known of one: "config_key", "pass_default", "default_target" and "pass_pipeline", which partitions a module."""
    if name not in _CODEGENS:
        raise TVMCException(f"Composite target {name} is not defined in TVMC.")
    key, has_default, module, function = _CODEGENS[name]
    return {
        "config_key": key,
        "pass_default": has_default,
        "default_target": None,
        "pass_pipeline": _pipeline(name, module, function),
    }


def _pipeline(name: str, module: str, function: str) -> Callable[..., IRModule]:
    """Partitions by the function of `relay.op.contrib`, looked for when it is called."""

    def partition(mod: IRModule, params: Any = None, **options: Any) -> IRModule:
        try:
            found = getattr(importlib.import_module(f"tessera.relay.op.contrib.{module}"), function)
        except (ImportError, AttributeError) as error:
            raise TVMCImportError(f"the code generator {name} cannot partition a model here: {error}") from error
        return found(mod, params, **options)

    return partition
