"""What backends of UMA share."""

from __future__ import annotations

import os
import uuid
from enum import Enum, auto
from typing import Any

from ......_ffi.registry import get_global_func
from ......contrib import clang, utils

__all__ = ["PassPhase", "add_llvm_to_block", "uma_available"]


class PassPhase(Enum):
    """When a pass runs: over the graph before or after it is partitioned, or over loops after a phase of lowering."""

    PRE_PARTITIONING = auto()
    POST_PARTITIONING_0 = auto()
    POST_PARTITIONING_1 = auto()
    TIR_PHASE_0 = auto()
    TIR_PHASE_1 = auto()
    TIR_PHASE_2 = auto()
    TIR_PHASE_3 = auto()


def uma_available() -> bool:
    """True when targets can be registered."""
    return get_global_func("relay.backend.contrib.uma.RegisterTarget", allow_missing=True) is not None


def add_llvm_to_block(sch: Any, block_name: str, c_code_str: str = "") -> Any:
    """Attaches C, compiled to LLVM IR by clang, to the first loop of a block."""
    folder = utils.tempdir()
    path = os.path.join(folder.temp_dir, f"{uuid.uuid4().hex}.ll")
    text = clang.create_llvm(c_code_str, output=path)
    block = sch.get_block(block_name)
    sch.annotate(sch.get_loops(block)[0], "pragma_import_llvm", text)
    return sch
