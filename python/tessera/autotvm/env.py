"""What all of AutoTVM knows of the program it runs in."""

from __future__ import annotations

__all__ = ["GLOBAL_SCOPE", "AutotvmGlobalScope"]


class AutotvmGlobalScope:
    """Settings: `silent` turns messages off."""

    def __init__(self) -> None:
        self.in_tuning = False
        self.silent = False
        self.cuda_target_arch: str | None = None
        self.deep_tuning = False


GLOBAL_SCOPE = AutotvmGlobalScope()
