"""Compiling and running expressions in tests of operators."""

import numpy as np
import tessera
from references import evaluate
from tessera import relay
from tessera.contrib import graph_executor

RNG = np.random.default_rng(7)


def tensor(*shape, dtype="float32", low=-2.0, high=2.0):
    values = RNG.uniform(low, high, shape)
    return (values > 0) if dtype == "bool" else values.astype(dtype)


def indices(high, *shape, dtype="int32", low=0):
    return RNG.integers(low, high, shape).astype(dtype)


def as_function(build, arrays):
    params = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    body = build(*params)
    body = body.astuple() if isinstance(body, relay.TupleWrapper) else body
    return relay.Function(params, body)


def run_function(function, arrays, opt_level=2):
    """The outputs of the compiled function on the arrays."""
    mod = tessera.IRModule.from_expr(function)
    with tessera.transform.PassContext(opt_level=opt_level):
        graph = graph_executor.GraphModule(relay.build(mod, target="llvm")["default"](tessera.cpu()))
    graph.run(**{f"x{i}": a for i, a in enumerate(arrays)})
    return [graph.get_output(i).numpy() for i in range(graph.get_num_outputs())]


def flat(value):
    return [item for part in value for item in flat(part)] if isinstance(value, (list, tuple)) else [value]


def verify(build, *arrays, rtol=1e-5, atol=1e-6):
    """Compiles `build(vars...)`, runs it on the arrays and compares with what REFERENCES say."""
    function = as_function(build, arrays)
    got = run_function(function, arrays)
    want = flat(evaluate(function.body, {f"x{i}": a for i, a in enumerate(arrays)}))
    assert len(got) == len(want)
    for have, expected in zip(got, want):
        expected = np.asarray(expected)
        assert have.shape == expected.shape
        assert have.dtype == expected.dtype
        if have.dtype.kind == "f":
            np.testing.assert_allclose(have, expected, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(have, expected)
    return got
