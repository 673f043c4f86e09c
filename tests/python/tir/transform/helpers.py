"""Small programs for the tests of passes."""

import textwrap

import tessera as tvm
from tessera import tir
from tessera.script import tir as T

CUDA = tvm.target.Target("cuda", host="llvm")


def buffer(name, shape, dtype="float32", scope=""):
    return tir.decl_buffer(shape, dtype, name=name, scope=scope)


def function(buffers, body, scalars=()):
    """A function whose parameters are the buffers, then the scalars."""
    params, buffer_map = [], {}
    for buf in buffers:
        param = tir.Var(buf.name, "handle")
        params.append(param)
        buffer_map[param] = buf
    func = tir.PrimFunc(params + list(scalars), body, buffer_map=buffer_map)
    return func.with_attr("global_symbol", "main")


def run(passes, func, config=None):
    """The function after one pass or a list of them."""
    mod = tvm.IRModule({"main": func})
    with tvm.transform.PassContext(config=config or {}):
        for one in passes if isinstance(passes, (list, tuple)) else [passes]:
            mod = one(mod)
    return mod["main"]


def body_text(func):
    """The statements of a function's script, without its head."""
    lines = func.script().splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "# body")
    return textwrap.dedent("\n".join(lines[start + 1 :])).strip()


def check(func, expected):
    assert body_text(func) == textwrap.dedent(expected).strip()


def loop(var, extent, body, kind=tir.ForKind.SERIAL, annotations=None):
    return tir.For(var, 0, extent, kind, body, None, annotations or {})


def becomes(passes, before, after, config=None):
    """`before`, a function written as a script, is `after` once the passes have run."""
    done = run(passes, before.with_attr("global_symbol", "main"), config)
    tvm.ir.assert_structural_equal(done, after.with_attr("global_symbol", "main"))


def global_pass(name, *args):
    return tvm.get_global_func("tir.transform." + name)(*args)


def named(func):
    return func.with_attr("global_symbol", "main")


@T.prim_func
def ones(A: T.Buffer[8, "float32"], n: T.int32) -> None:
    assert n == 8, "n is not 8"
    for i in T.parallel(8):
        A[i] = 1.0
