"""Arm's CMSIS-NN, whose code generator is not there."""

from __future__ import annotations

from typing import Any

from ....ir import IRModule

__all__ = ["partition_for_cmsisnn"]


def partition_for_cmsisnn(mod: IRModule, params: Any = None, mod_name: str = "default", **opts: Any) -> IRModule:
    """Says that nothing compiles what would be cut: code for microcontrollers is not made here."""
    del mod, params, mod_name, opts
    raise NotImplementedError(
        "there is no code generator for CMSIS-NN; leave the partitioning out, and relay.build compiles int8 operators itself"
    )
