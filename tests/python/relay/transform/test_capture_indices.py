"""Spans that number expressions in post-order, with their dominators."""

import tessera
from tessera import relay


def spans(expr):
    mod = relay.transform.CapturePostDfsIndexInSpans()(tessera.IRModule.from_expr(expr))
    found = {}

    def visit(node):
        if not isinstance(node, tessera.ir.Op):
            name = node.op.name if isinstance(node, relay.Call) else getattr(node, "name_hint", type(node).__name__)
            found[name] = (node.span.source_name.name, node.span.line, node.span.column)

    relay.analysis.post_order_visit(mod["main"], visit)
    return found


def test_an_expression_has_its_number_and_that_of_its_dominator():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)  # used twice: by log and by add
    found = spans(relay.Function([x], relay.add(relay.log(y), y)))
    assert all(source == "index" for source, _, _ in found.values())
    index = {name: line for name, (_, line, _) in found.items()}
    dominator = {name: column for name, (_, _, column) in found.items()}
    assert index["x"] < index["exp"] < index["log"] < index["add"] < index["Function"]
    assert dominator["log"] == index["add"] and dominator["exp"] == index["add"]  # both ways from exp meet in add
    assert dominator["add"] == index["Function"] == dominator["Function"]
