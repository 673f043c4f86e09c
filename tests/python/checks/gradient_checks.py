"""Gradients against finite differences, and what their cases are written with."""

import numpy as np
import tessera
from nn_checks import execute, tensor, variables
from tessera import relay
from tessera.contrib import graph_executor


def compiled(params, body):
    """A function of arrays that gives all outputs."""
    mod = tessera.IRModule.from_expr(relay.Function(params, body))
    graph = graph_executor.GraphModule(relay.build(mod, target="llvm")["default"](tessera.cpu()))

    def run(*arrays):
        graph.run(**{p.name_hint: a for p, a in zip(params, arrays)})
        return [graph.get_output(i).numpy() for i in range(graph.get_num_outputs())]

    return run


def differences(function, arrays, i, weights, step=1e-4):
    """The gradient by array `i` of the sum of outputs times weights, element by element."""
    out = np.zeros_like(arrays[i])
    total = lambda: sum((w * o).sum() for w, o in zip(weights, function(*arrays)))
    for at in np.ndindex(arrays[i].shape):
        kept = arrays[i][at]
        arrays[i][at] = kept + step
        high = total()
        arrays[i][at] = kept - step
        out[at] = (high - total()) / (2 * step)
        arrays[i][at] = kept
    return out


def check_gradient(build, *arrays, rtol=1e-4, atol=1e-5, fixed=()):
    """Arguments that are `fixed` are taken as they are, as integers are: their gradients are zeros."""
    arrays = [a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]
    params = variables(arrays)
    body = build(*params)
    body = body.tuple_value if isinstance(body, relay.TupleWrapper) else body
    call = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(params, body)))["main"].body
    forward = compiled(params, body)
    weights = [tensor(*o.shape, dtype="float64") for o in forward(*arrays)]
    grads = [relay.var(f"g{i}", shape=w.shape, dtype="float64") for i, w in enumerate(weights)]
    grad = relay.Tuple(grads) if isinstance(call.checked_type, relay.TupleType) else grads[0]
    gradients = call.op.get_attr("FPrimalGradient")(call, grad)
    assert len(gradients) == len(arrays)
    got = execute(list(call_params(call, params)) + grads, relay.Tuple(list(gradients)), arrays + weights)
    for i, analytic in enumerate(got):
        assert analytic.shape == arrays[i].shape
        if arrays[i].dtype.kind == "i" or i in fixed:
            assert not analytic.any()
            continue
        numeric = differences(forward, arrays, i, weights)
        np.testing.assert_allclose(analytic, numeric, rtol=rtol, atol=atol, err_msg=f"argument {i}")


def call_params(call, params):
    """The variables of the typed call, in the order of `params`."""
    by_name = {v.name_hint: v for v in relay.analysis.free_vars(call)}
    return [by_name.get(p.name_hint, p) for p in params]


def away_from_zero(*shape):
    x = tensor(*shape)
    return x + 0.1 * np.sign(x)


def positions(*shape, size=0.9):
    """Positions that are not close to the middle or the border of elements, where samples have kinks."""
    return tensor(*shape, low=-size, high=size).round(2) + 0.0037


def call(name, *args, **attrs):
    return relay.Call(
        tessera.ir.Op.get(name), list(args), tessera.ir.make_node(f"relay.attrs.{name.capitalize()}Attrs", **attrs)
    )


def int64(*values):
    return np.array(values, "int64")


def check_open(build, *arrays, shapes=None):
    """The gradients of the sum of squares, where extents are arguments or Any, against differences on the VM."""
    arrays = [a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]
    shapes = [a.shape for a in arrays] if shapes is None else shapes
    params = [relay.var(f"x{i}", shape=s, dtype=str(a.dtype)) for i, (s, a) in enumerate(zip(shapes, arrays))]
    body = build(*params)
    parts = [*body] if isinstance(body, relay.TupleWrapper) else [body]
    total = sum((relay.sum(part * part) for part in parts), relay.const(0.0, "float64"))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function(params, total)))
    backward = tessera.IRModule.from_expr(relay.transform.gradient(mod["main"], mode="first_order"))
    on_vm = lambda module: relay.create_executor("vm", module, tessera.cpu(), "llvm").evaluate()
    forward = on_vm(mod)
    _, gradients = on_vm(backward)(*arrays)
    for i, analytic in enumerate(gradients):
        assert analytic.shape == arrays[i].shape
        if arrays[i].dtype.kind == "i":
            assert not analytic.numpy().any()
            continue
        numeric = differences(lambda *given: [forward(*given).numpy()], arrays, i, [1.0])
        np.testing.assert_allclose(analytic.numpy(), numeric, rtol=1e-4, atol=1e-5, err_msg=f"argument {i}")
    return getattr(parts[0], "op", None)
