"""A graph that is compiled when it is first called, for the weights that it is called with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .._ffi.registry import get_global_func
from ..model import compile as compile_model
from ..relay.frontend._torch.strides import dense_order
from ..runtime import ndarray as nd
from ..runtime.ndarray import NDArray
from ..runtime.object_generic import convert
from ._fallback import warn_of
from ._results import Results
from ._tensors import ndarray_of
from ._written import import_graph, number_dtype

#: Layers that share a graph have a program for each one's weights.
_MAX_FROZEN = 64
#: How often a program is made anew because weights were changed.
_MAX_CHANGES = 2

_fingerprint = get_global_func("runtime.fingerprint")


class Program:
    """A graph of functional operators as a function of its placeholders.

    Parameters and buffers are constants of the program: kernels are made for them, and they are laid out once. A call
    sees when they are others or were changed; then the program is made anew, and where that happens again and again, one is
    made that takes them as inputs.
    """

    def __init__(self, graph: torch.fx.GraphModule, weights: set[str], options: Any) -> None:
        self.graph = graph
        self.options = options
        self.placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self.results = Results(graph, self.placeholders)
        self._weights = [
            i
            for i, node in enumerate(self.placeholders)
            if options.freeze and node.name in weights and isinstance(node.meta["val"], torch.Tensor)
        ]
        self._frozen: dict[tuple[int, ...], _Frozen] = {}
        self._last: _Frozen | None = None
        self._general: _Compiled | None = None
        self._changes = 0
        self._by_torch: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        if not self.results.computed:
            return self.results.of(args, [])
        if self._by_torch is not None:
            return self._by_torch(*args)
        compiled = self._general
        if compiled is None:
            weights = [args[i] for i in self._weights]
            last = self._last
            if last is not None and last.is_of(weights):
                compiled = last.compiled
            else:
                with self._lock, torch.no_grad():
                    try:
                        compiled = self._make(weights)
                    except Exception as error:  # what cannot be compiled, PyTorch still runs
                        warn_of("a graph", [str(error).strip().split("\n")[0]])
                        self._by_torch = self.graph.forward
                        return self._by_torch(*args)
        return self.results.of(args, compiled.run(args))

    def _make(self, weights: list[torch.Tensor]) -> _Compiled:
        key = tuple(weight.data_ptr() for weight in weights)
        known = self._frozen.get(key)
        if known is not None and known.is_of(weights):
            self._last = known
            return known.compiled
        gone = [each for each, frozen in self._frozen.items() if each == key or frozen.is_left()]
        for each in gone:
            del self._frozen[each]
        self._last = None
        self._changes += bool(gone)
        if weights and (self._changes > _MAX_CHANGES or len(self._frozen) >= _MAX_FROZEN):
            self._frozen.clear()
            self._general = _Compiled(self, {})
            return self._general
        self._last = self._frozen[key] = _Frozen(self, self._weights, weights)
        return self._last.compiled


class _Frozen:
    """A program and the weights that it was made for."""

    def __init__(self, program: Program, positions: Sequence[int], weights: list[torch.Tensor]) -> None:
        others = [_users(weight) for weight in weights]
        self._kept = [weight.detach() for weight in weights]  # the memory stays theirs
        self._sampled = convert([ndarray_of(_in_memory_order(weight)) for weight in weights])
        self._addresses = [weight.data_ptr() for weight in weights]
        self._versions = _versions(weights)
        self._print = _fingerprint(self._sampled)
        self.compiled = _Compiled(program, {program.placeholders[i].name: each for i, each in zip(positions, weights)})
        self._own = [_users(weight) - before for weight, before in zip(weights, others)]

    def is_of(self, weights: list[torch.Tensor]) -> bool:
        """True where these are the same and nobody wrote to them.

        PyTorch counts writes, but not those through `.data`; a sample of the contents is compared for their sake.
        """
        return (
            [weight.data_ptr() for weight in weights] == self._addresses
            and _versions(weights) == self._versions
            and _fingerprint(self._sampled) == self._print
        )

    def is_left(self) -> bool:
        """True where nobody else has these weights any more."""
        return bool(self._kept) and all(_users(weight) <= own for weight, own in zip(self._kept, self._own))


def _users(tensor: torch.Tensor) -> int:
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


def _in_memory_order(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with its dimensions as they lie in memory, so that no copy of it is needed where it has no gaps."""
    order = dense_order(tensor.shape, tensor.stride())
    return tensor if order is None else tensor.permute(order)


def _versions(weights: list[torch.Tensor]) -> list[int]:
    try:
        return [weight._version for weight in weights]
    except RuntimeError:  # of torch.inference_mode, which counts nothing
        return []


class _Compiled:
    """A compiled model, called with the arguments of the graph."""

    def __init__(self, program: Program, weights: dict[str, torch.Tensor]) -> None:
        options = program.options
        mod, params, names = import_graph(program.graph, weights, program.results.computed)
        self._model = compile_model(
            mod,
            options.target,
            params=params,
            opt_level=options.opt_level,
            num_threads=options.num_threads,
            precision=options.precision,
        )
        assert len(self._model.outputs) == len(program.results.computed), "results are missing from the compiled graph"
        index = {node.name: i for i, node in enumerate(program.placeholders)}
        missing = [info.name for info in self._model.inputs if info.name not in names]
        assert not missing, f"the compiled graph takes {missing}, which it was not given"
        self._inputs = [
            (index[info.name], _converter(program.placeholders[index[info.name]].meta["val"]))
            for info in self._model.inputs
        ]

    def run(self, args: Sequence[Any]) -> list[NDArray]:
        return self._model.run(*[converter(args[i]) for i, converter in self._inputs])


def _converter(value: Any) -> Callable[[Any], NDArray]:
    """Makes an argument like `value`, a tensor or a number, one of the compiled model."""
    if not isinstance(value, torch.Tensor):
        dtype = number_dtype(value)
        return lambda number: nd.array(np.asarray(number, dtype))
    order = dense_order(value.shape, value.stride())
    if order is None or order == list(range(len(order))):
        return ndarray_of
    dims = order
    return lambda tensor: ndarray_of(tensor.permute(dims))
