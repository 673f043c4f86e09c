"""One call of an operator, compiled and run, against its NumPy reference."""

import numpy as np
import tessera
from references_nn import REFERENCES
from tessera import relay
from tessera.contrib import graph_executor

RNG = np.random.default_rng(11)


def tensor(*shape, dtype="float32", low=-2.0, high=2.0):
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape).astype(dtype)
    return RNG.uniform(low, high, shape).astype(dtype)


def execute(params, body, arrays, opt_level=2):
    """All outputs of fn(params) { body } on the arrays."""
    mod = tessera.IRModule.from_expr(relay.Function(params, body))
    with tessera.transform.PassContext(opt_level=opt_level):
        graph = graph_executor.GraphModule(relay.build(mod, target="llvm")["default"](tessera.cpu()))
    graph.run(**{p.name_hint: a for p, a in zip(params, arrays)})
    return [graph.get_output(i).numpy() for i in range(graph.get_num_outputs())]


def variables(arrays):
    return [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]


def check(build, *arrays, rtol=1e-4, atol=1e-5, opt_level=2):
    """`build` makes one call of the arrays' variables; what it computes is what the reference of its operator says."""
    params = variables(arrays)
    body = build(*params)
    body = body.tuple_value if isinstance(body, relay.TupleWrapper) else body
    call = body.tuple_value if isinstance(body, relay.TupleGetItem) else body
    inputs = [arg.data.numpy() if isinstance(arg, relay.Constant) else arrays[params.index(arg)] for arg in call.args]
    want = REFERENCES[call.op.name](call.attrs, *inputs)
    if isinstance(body, relay.TupleGetItem):
        want = want[body.index]
    want = want if isinstance(want, list) else [want]
    got = execute(params, body, arrays, opt_level)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def type_of(expr):
    function = relay.Function(relay.analysis.free_vars(expr), expr)
    return relay.transform.InferType()(tessera.IRModule.from_expr(function))["main"].checked_type.ret_type
