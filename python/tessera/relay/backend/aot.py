"""Names of ahead-of-time compilation, which is not there yet."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

__all__ = ["AOTLowerMain", "CallType"]


class CallType(IntEnum):
    """How a compiled main function calls kernels."""

    Packed = 0
    CPacked = 1
    Unpacked = 2


def AOTLowerMain(mod_name: str, config: Any, call_type: CallType) -> Any:
    """The pass that makes one TIR function of `main`."""
    del mod_name, config, call_type
    raise NotImplementedError(
        'there is no ahead-of-time compilation yet; use the graph executor, relay.backend.Executor("graph")'
    )
