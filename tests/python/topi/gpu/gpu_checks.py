"""Kernels of GPUs: what rule makes them, and what they answer on the devices that there are."""

import re

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor

DEVICES = [
    pytest.param("opencl", marks=pytest.mark.skipif(not tvm.opencl(0).exist, reason="no OpenCL device")),
    pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not tvm.cuda(0).exist, reason="no CUDA device")]),
]


def var(name, *shape, dtype="float32"):
    return relay.var(name, relay.TensorType(shape, dtype))


def build(body, target, **knobs):
    function = body if isinstance(body, relay.Function) else relay.Function(relay.analysis.free_vars(body), body)
    with tvm.transform.PassContext(opt_level=3, config={"kernel.knobs": knobs}):
        return relay.build(tvm.IRModule.from_expr(function), tvm.target.Target(target, host="llvm"))


def programs(lib):
    return [p for info in lib.function_metadata.values() for p in info.tir_primfuncs.values()]


def rules(lib):
    return [str(program.attrs["tessera.schedule_rule"]) for program in programs(lib)]


def plan(lib, rule):
    """The knobs of the only plan of that rule."""
    texts = [str(t) for p in programs(lib) for t in dict(p.attrs.items()).get("tessera.schedule_plans", [])]
    (found,) = [text for text in texts if text.startswith(rule + "(")]
    return {name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", found)}


def source(lib):
    return lib.get_lib().imported_modules[0].get_source()


def run(lib, device, **inputs):
    module = graph_executor.GraphModule(lib["default"](tvm.device(device, 0)))
    module.run(**{name: tvm.nd.array(value) for name, value in inputs.items()})
    return module.get_output(0).numpy()


def random(*shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed + sum(shape))
    if np.dtype(dtype).kind in "iu":
        low = 0 if np.dtype(dtype).kind == "u" else -8
        return rng.integers(low, 9, shape).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(dtype)
