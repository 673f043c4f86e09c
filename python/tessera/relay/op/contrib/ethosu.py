"""Arm's Ethos-U, whose compiler (Vela) is not there."""

from __future__ import annotations

from typing import Any

from ....ir import IRModule

__all__ = ["partition_for_ethosu"]


def partition_for_ethosu(mod: IRModule, params: Any = None, mod_name: str = "default", **opts: Any) -> IRModule:
    """Says that nothing compiles what would be cut."""
    del mod, params, mod_name, opts
    raise NotImplementedError(
        "there is no code generator for Ethos-U; leave the partitioning out, and relay.build compiles int8 operators itself"
    )
