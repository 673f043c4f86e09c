"""Helpers for tests of TVMScript."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

from ..error import DiagnosticError
from ..script import from_source

__all__ = ["check_error"]


def check_error(func: Callable[..., Any], rel_lineno: int) -> None:
    """Asserts that a function is no TVMScript because of one line, counted from 1 with `def` at 2.

    A comment ``# check_error: words`` on that line is what the message must hold.
    """
    source = "@T.prim_func\n" + textwrap.dedent(inspect.getsource(func))
    try:
        from_source(source)
    except DiagnosticError as error:
        text = str(error)
    else:
        raise AssertionError(f"{func.__name__} is TVMScript without an error")
    place = re.search(r"--> .*:(\d+):\d+$", text, re.MULTILINE)
    assert place, f"the error names no line: {text}"
    assert int(place.group(1)) == rel_lineno, f"expected an error on line {rel_lineno}, but it was on {place.group(1)}"
    words = re.search(r"check_error: (.+)$", source.splitlines()[rel_lineno - 1])
    if words:
        assert words.group(1).strip() in text
