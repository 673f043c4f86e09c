"""Programs on the screen, in colours where the output can show them."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ["cprint"]

STYLES = {"light": "friendly", "dark": "monokai", "ansi": "default"}


def cprint(printable: Any, style: str | None = None) -> None:
    """Prints a module, a function or a text of TVMScript.

    `style` is "light", "dark", "ansi" or a style of Pygments. Without a terminal or a notebook, or without Pygments
    installed, the text is printed as it is.
    """
    text = printable if isinstance(printable, str) else printable.script()
    notebook = _in_notebook()
    if not notebook and not sys.stdout.isatty():
        print(text)
        return
    try:
        pygments = import_module("pygments")
        formatters = import_module("pygments.formatters")
        lexer = import_module("pygments.lexers.python").Python3Lexer()
    except ImportError:
        print(text)
        return
    chosen = STYLES.get(style or "light", style)
    if notebook:
        page = pygments.highlight(text, lexer, formatters.HtmlFormatter(style=chosen, full=False, noclasses=True))
        display = import_module("IPython.display")
        display.display(display.HTML(page))
        return
    print(pygments.highlight(text, lexer, formatters.Terminal256Formatter(style=chosen)))


def _in_notebook() -> bool:
    """True inside a Jupyter kernel, where output is a page."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
