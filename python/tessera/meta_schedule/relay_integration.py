"""Tasks of models."""

from __future__ import annotations

from typing import Any

from ..target import Target
from .extracted_task import ExtractedTask

__all__ = ["extract_task_from_relay", "is_meta_schedule_dispatch_enabled", "is_meta_schedule_enabled"]


def extract_task_from_relay(
    mod: Any,
    target: str | Target,
    params: dict[str, Any] | None = None,
    *,
    opt_level: int = 3,
    pass_config: dict[str, Any] | None = None,
    disabled_pass: list[str] | None = None,
    tir_converter: str = "default",
) -> list[ExtractedTask]:
    """The fused functions of a model, each once, with how often it occurs."""
    raise NotImplementedError


def is_meta_schedule_enabled() -> bool:
    """True where relay.build uses the database entered by `with`."""
    from ..ir.transform import PassContext

    return bool(PassContext.current().config.get("relay.backend.use_meta_schedule", False))


def is_meta_schedule_dispatch_enabled() -> bool:
    """True where programs of blocks are asked for in the database only, and operators keep their layouts."""
    from ..ir.transform import PassContext

    return bool(PassContext.current().config.get("relay.backend.use_meta_schedule_dispatch", False))
