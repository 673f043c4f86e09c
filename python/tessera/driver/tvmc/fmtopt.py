"""Texts about options, as help shows them."""

from __future__ import annotations

__all__ = ["format_option"]

_COLUMN, _WIDTH = 40, 80


def format_option(option_text: str, help_text: str, default_text: str, required: bool = True) -> str:
    """An option, what it is for in a column beside it, and its default under that."""
    lines, line = [], ""
    for word in help_text.split():
        if line and len(line) + len(word) + 1 > _WIDTH - _COLUMN:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    lines += [line] if line else []
    if not required:
        lines.append(default_text)
    first = lines.pop(0) if lines else ""
    head = f"  {option_text:<{_COLUMN - 2}}{first}"
    return "\n".join([head.rstrip(), *(" " * _COLUMN + line for line in lines)])
