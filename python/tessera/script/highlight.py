"""Programs on the screen, in colours where the output can show them."""

from __future__ import annotations

import sys
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
        import pygments
        from pygments.formatters import HtmlFormatter, Terminal256Formatter
        from pygments.lexers.python import Python3Lexer
    except ImportError:
        print(text)
        return
    chosen = STYLES.get(style or "light", style)
    if notebook:
        from IPython import display  # only there is it needed

        page = pygments.highlight(text, Python3Lexer(), HtmlFormatter(style=chosen, full=False, noclasses=True))
        display.display(display.HTML(page))
        return
    print(pygments.highlight(text, Python3Lexer(), Terminal256Formatter(style=chosen)))


def _in_notebook() -> bool:
    """True inside a Jupyter kernel, where output is a page."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
