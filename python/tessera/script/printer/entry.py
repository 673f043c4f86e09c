"""An object as text in one call."""

from __future__ import annotations

from typing import Any

from ...runtime.object_path import ObjectPath
from .doc_printer import to_python_script
from .ir_docsifier import IRDocsifier, RootNodeContainer

__all__ = ["script"]


def script(
    root_node: Any,
    ir_name: str,
    ir_prefix: dict[str, str],
    indent_spaces: int = 4,
    print_line_numbers: bool = False,
    num_context_lines: int = -1,
    path_to_underline: ObjectPath | None = None,
) -> str:
    """The text of an object of the language `ir_name`; `ir_prefix` says how languages are called ({"tir": "T"})."""
    docsifier = IRDocsifier(ir_prefix)
    with docsifier.dispatch_token(ir_name):
        doc = docsifier.as_doc(RootNodeContainer(root_node), ObjectPath.root())
    return to_python_script(doc, indent_spaces, print_line_numbers, num_context_lines, path_to_underline)
