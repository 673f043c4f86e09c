"""Python's syntax as nodes that are the same under all versions."""

import ast

from tessera.script.printer import doc_core

SOURCE = """
def f(a, b: int = 3, *rest, key=1):
    for i in range(a):
        x[i, 1:2] = b if i < 3 and not a else -i
    with q as z, lambda u: u:
        pass
    return {1: [y for y in rest if y is not None]}
"""


def test_trees_come_back_as_they_were():
    tree = ast.parse(SOURCE)
    node = doc_core.to_doc(tree)
    function = node.body[0]
    assert isinstance(function, doc_core.FunctionDef) and isinstance(function, doc_core.stmt)
    assert (function.name, function.lineno) == ("f", 2)
    back = doc_core.from_doc(node)
    back.type_ignores = []
    assert ast.unparse(back) == ast.unparse(tree)
