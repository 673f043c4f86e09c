"""What tests of schedules share."""

from __future__ import annotations

from collections.abc import Sequence

from ... import tir
from ...ir import IRModule, assert_structural_equal
from ..function import PrimFunc
from .schedule import Schedule
from .trace import Trace


def verify_trace_roundtrip(
    sch: Schedule,
    mod: PrimFunc | IRModule,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Schedule:
    """Does again on `mod` what the trace of `sch` says, in each format; the module and the trace must come out the same.

    Returns the last of the schedules made so. The formats are "python", the printed lines run as a program, and "json".
    """
    for form in [text_format] if isinstance(text_format, str) else text_format:
        again = Schedule(mod, debug_mask=debug_mask)
        if form == "json":
            Trace.apply_json_to_schedule(sch.trace.as_json(), again)
        elif form == "python":
            exec("\n".join(sch.trace.as_python()), {**vars(tir), "sch": again})
        else:
            raise ValueError(f'the text format of a trace is "python" or "json", not "{form}"')
        assert_structural_equal(again.mod, sch.mod)
        assert again.trace.as_python() == sch.trace.as_python(), f"the trace printed from {form} differs"
    return again
