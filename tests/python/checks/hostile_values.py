"""Runs operators on values that nobody would write, in tensors between pages that may not be touched.

    python hostile_values.py SEED values|shapes [OPERATOR...]

Says each operator before it runs it, so that the last line names the one that ended the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import resource
import signal
import sys
from typing import Any

import numpy as np
import tessera
from random_graphs import CASES, Graph, function_with_dynamic_extents, single
from tessera import relay
from tessera.contrib import graph_executor
from tessera.runtime.vm import VirtualMachine

EDGES = [7, 8, 15, 16, 31, 32, 40, 62, 63, 64]
WHOLE = [0, 1, -1, 2, 3, 5, -5, 64, 1000, *[sign * (1 << n) + d for n in EDGES for sign in (1, -1) for d in (-1, 0, 1)]]
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.7, 100.0, np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, 2147483520.0, 1e-40]
PAGE = mmap.PAGESIZE
ALIGNMENT = 64
SECONDS, CPU_SECONDS = 600, 60  # for one operator, compiling included
MEMORY = 12 << 30
ERRORS = (tessera.TVMError, tessera.error.DiagnosticError, ValueError, TypeError, MemoryError, NotImplementedError)

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded(shape: Any, dtype: str, at_end: bool) -> np.ndarray:
    """An array that ends (to its alignment), or begins, at a page that ends the process when it is touched."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    inner = max(-(-size // PAGE), 1) * PAGE
    base = libc.mmap(
        None, inner + 2 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
    )
    assert base not in (None, ctypes.c_void_p(-1).value)
    libc.mprotect(base, PAGE, 0)
    libc.mprotect(base + PAGE + inner, PAGE, 0)
    start = base + PAGE + (inner - -(-size // ALIGNMENT) * ALIGNMENT if at_end else 0)
    memory = (ctypes.c_char * max(size, 1)).from_address(start)
    return np.frombuffer(memory, dtype, count=int(np.prod(shape))).reshape(shape)


def on_guarded(array: np.ndarray, at_end: bool) -> Any:
    """The array as a tensor in guarded memory, and NumPy's view of it."""
    if array.dtype == bool:  # DLPack has no type for it that both sides know
        return tessera.nd.array(array)
    view = guarded(array.shape, str(array.dtype), at_end)
    view[...] = array
    return tessera.nd.from_dlpack(view.__dlpack__())


def hostile(numbers: np.random.Generator, like: np.ndarray) -> np.ndarray:
    if like.dtype.kind == "f":
        return numbers.choice(np.array(REAL), like.shape).astype(like.dtype)
    if like.dtype == bool:
        return like
    limits = np.iinfo(like.dtype)
    choices = [n for n in WHOLE if limits.min <= n <= limits.max]
    picked = [choices[i] for i in numbers.integers(0, len(choices), like.size)]
    return np.array(picked, like.dtype).reshape(like.shape)


KINDS = {
    "indices": lambda node: node.is_index,
    "integers": lambda node: node.value.dtype.kind in "iu",
    "floats": lambda node: node.value.dtype.kind == "f",
    "all": lambda node: True,
}


def poisoned(name: str, seed: int, kind: str, is_constant: bool) -> Graph | None:
    """The graph of one call whose inputs of that kind are hostile; None where it has none."""
    graph = single(name, seed)
    numbers = np.random.default_rng(seed)
    inputs = [node for node in graph.nodes if node.make is None]
    chosen = [node for node in inputs if KINDS[kind](node)]
    for node in inputs:
        node.is_constant = is_constant
    for node in chosen:
        node.value = hostile(numbers, node.value)
    return graph if chosen else None


def run(graph: Graph, at_end: bool, executor: str, opt_level: int) -> None:
    function, inputs = graph.function(graph.results())
    mod = tessera.IRModule.from_expr(function)
    tensors = {key: on_guarded(value, at_end) for key, value in inputs.items()}
    with tessera.transform.PassContext(opt_level=opt_level):
        if executor == "vm":
            program = relay.vm.compile(mod, target="llvm")
            VirtualMachine(program, tessera.cpu()).invoke("main", *[tensors[p.name_hint] for p in function.params])
            return
        module = graph_executor.GraphModule(relay.build(mod, target="llvm")["default"](tessera.cpu()))
    for key, tensor in tensors.items():
        module.module["set_input_zero_copy"](key, tensor)
    for i in range(module.get_num_outputs()):
        like = module.get_output(i)
        if like.dtype != "bool":
            module.module["set_output_zero_copy"](i, on_guarded(np.zeros(like.shape, like.dtype), at_end))
    module.run()


def misfits(name: str, seed: int, count: int = 4) -> int:
    """Runs the call with dynamic extents on inputs that do not fit together; how many runs ended."""
    graph = single(name, seed)
    for node in graph.nodes:
        node.is_constant = False
    function, inputs = function_with_dynamic_extents(graph, graph.results(), 1.0)
    indices = {f"x{i}" for i, node in enumerate(graph.nodes) if node.is_index}
    try:
        program = relay.vm.compile(tessera.IRModule.from_expr(function), target="llvm")
    except ERRORS:
        return 0
    machine, numbers = VirtualMachine(program, tessera.cpu()), np.random.default_rng(seed)
    for attempt in range(count):
        given = []
        for param in function.params:
            value = inputs[param.name_hint]
            if param.name_hint not in indices and value.ndim and numbers.random() < 0.6:
                extents = list(value.shape)
                axis = int(numbers.integers(value.ndim))
                extents[axis] = max(0, extents[axis] + int(numbers.choice([-extents[axis], -1, 1, 2, 40])))
                value = np.resize(value, extents) if value.size else np.zeros(extents, value.dtype)
            given.append(on_guarded(value, attempt % 2 == 0))
        with contextlib.suppress(*ERRORS):
            machine.invoke("main", *given)
    return count


def attempt(name: str, seed: int) -> int:
    """How many runs ended by themselves, in a result or an error of ours."""
    runs = 0
    for kind in KINDS:
        for is_constant in (False, True):
            graph = poisoned(name, seed, kind, is_constant)
            if graph is None:
                continue
            needs_vm = any(graph.nodes[i].needs_vm for i in graph.results())
            for executor, opt_level, at_end in (("graph", 3, True), ("graph", 0, False), ("vm", 3, seed % 2 == 0)):
                if (executor == "graph" and needs_vm) or (is_constant and (executor == "vm" or opt_level == 0)):
                    continue
                with contextlib.suppress(*ERRORS):
                    run(graph, at_end, executor, opt_level)
                runs += 1
    return runs


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seed, run_one = int(sys.argv[1]), {"values": attempt, "shapes": misfits}[sys.argv[2]]
    names = sys.argv[3:] or sorted(CASES)
    runs = 0
    for name in names:
        print(name, flush=True)
        signal.alarm(SECONDS)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        runs += run_one(name, seed)
    signal.alarm(0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(f"{runs} runs of {len(names)} operators ended", flush=True)


if __name__ == "__main__":
    main()
