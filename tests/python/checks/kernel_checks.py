"""What kernels a function becomes, and what they answer."""

import numpy as np
import tessera
from tessera import relay


def rules(function, target="llvm"):
    """The rule of each kernel after all passes, "" where its most complex operator decides; views are no kernels."""
    with tessera.transform.PassContext(opt_level=3):
        mod, _ = relay.optimize(tessera.IRModule.from_expr(function), target)
    found = []

    def visit(expr):
        is_kernel = isinstance(expr, relay.Function) and expr.attrs and "Primitive" in expr.attrs
        if is_kernel and "relay.reshape_only" not in expr.attrs:
            found.append(str(expr.attrs["tessera.rule"]) if "tessera.rule" in expr.attrs else "")

    relay.analysis.post_order_visit(mod["main"], visit)
    return found


def run(function, values, target="llvm", **context) -> np.ndarray:
    """The first output."""
    with tessera.transform.PassContext(opt_level=3, **context):
        library = relay.build(tessera.IRModule.from_expr(function), target)
    module = tessera.contrib.graph_executor.GraphModule(library["default"](tessera.cpu()))
    for i, value in enumerate(values):
        module.set_input(i, value)
    module.run()
    return module.get_output(0).numpy()
