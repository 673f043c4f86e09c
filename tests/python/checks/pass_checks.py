"""What tests of graph passes share: the shape of the result, and that it computes the same."""

import numpy as np
import tessera
from tessera import relay
from tessera.contrib import graph_executor


def module(expr):
    """A typed module around an expression, a function, or a module."""
    if isinstance(expr, tessera.IRModule):
        return relay.transform.InferType()(expr)
    if not isinstance(expr, relay.Function):
        expr = relay.Function(relay.analysis.free_vars(expr), expr)
    return relay.transform.InferType()(tessera.IRModule.from_expr(expr))


def run(mod, inputs, opt_level=0):
    """The results of "main" for inputs by name."""
    with tessera.transform.PassContext(opt_level=opt_level):
        lib = relay.build(mod, "llvm")
    executor = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    for name, value in inputs.items():
        executor.set_input(name, value)
    executor.run()
    return [executor.get_output(i).numpy() for i in range(executor.get_num_outputs())]


def random_inputs(mod, seed=0):
    """Values for the parameters of "main"; positive, so that roots and logarithms are defined."""
    random = np.random.RandomState(seed)
    out = {}
    for param in mod["main"].params:
        kind = param.checked_type
        shape = tuple(int(extent) for extent in kind.shape)
        if "float" in kind.dtype:
            out[param.name_hint] = random.uniform(0.1, 2.0, shape).astype(kind.dtype)
        elif kind.dtype == "bool":
            out[param.name_hint] = random.randint(0, 2, shape).astype("bool")
        else:
            out[param.name_hint] = random.randint(0, 4, shape).astype(kind.dtype)
    return out


def check(passes, before, after=None, opt_level=4, rtol=1e-5, target=None, runs=True):
    """The passes turn `before` into `after`, and both compute the same. Without `after`, nothing changes."""
    before = module(before)
    changed = before
    with tessera.transform.PassContext(opt_level=opt_level):
        for one in passes if isinstance(passes, (list, tuple)) else [passes]:
            if target:
                with tessera.target.Target(target):
                    changed = one(changed)
            else:
                changed = one(changed)
    changed = relay.transform.InferType()(changed)
    wanted = before if after is None else module(after)
    tessera.ir.assert_structural_equal(changed["main"], wanted["main"], map_free_vars=True)
    if runs:
        inputs = random_inputs(before)
        for ours, theirs in zip(run(changed, inputs), run(before, inputs), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-5)
    return changed


def constants(mod):
    """The values of all constants of "main", in order."""
    out = []
    relay.analysis.post_order_visit(
        mod["main"], lambda e: out.append(e.data.numpy()) if isinstance(e, relay.Constant) else None
    )
    return out
