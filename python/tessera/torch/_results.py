"""What a graph returns: what it computes, arguments as they were given, and constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..relay.frontend._torch.strides import dense_order, inverse
from ..runtime.ndarray import NDArray
from ._tensors import torch_of


class Results:
    """The outputs of a graph, of which `computed` are those that a compiled program gives, in that order."""

    def __init__(self, graph: torch.fx.GraphModule, placeholders: Sequence[torch.fx.Node]) -> None:
        (output,) = (node for node in graph.graph.nodes if node.op == "output")
        self.computed: list[torch.fx.Node] = []
        self._finish: list[Callable[[NDArray], Any]] = []
        self._is_single = not isinstance(output.args[0], (list, tuple))
        items = (output.args[0],) if self._is_single else output.args[0]
        self._items = [self._item(item, graph, list(placeholders)) for item in items]

    def of(self, args: Sequence[Any], computed: Sequence[NDArray]) -> Any:
        """The outputs of a call."""
        results = [finish(array) for finish, array in zip(self._finish, computed)]
        out = [item(args, results) for item in self._items]
        return out[0] if self._is_single else out

    def _item(self, item: Any, graph: torch.fx.GraphModule, placeholders: list[torch.fx.Node]) -> Any:
        if not isinstance(item, torch.fx.Node):
            return lambda args, results: item
        if item.op == "placeholder":
            position = placeholders.index(item)
            return lambda args, results: args[position]
        if item not in self.computed:
            self.computed.append(item)
            self._finish.append(_finish(item.meta["val"]))
        index = self.computed.index(item)
        return lambda args, results: results[index]


def _finish(value: Any) -> Callable[[NDArray], Any]:
    """Makes a computed tensor one like `value`, which PyTorch's own operators gave."""
    if not isinstance(value, torch.Tensor):
        number = bool if isinstance(value, torch.SymBool) else float if isinstance(value, torch.SymFloat) else int
        return lambda array: number(array.numpy())
    order = dense_order(value.shape, value.stride())
    if order is not None:
        if order == list(range(len(order))):
            return torch_of
        dims = inverse(order)
        return lambda array: torch_of(array).permute(dims)
    strides = [stride for stride in value.stride() if isinstance(stride, int)]
    if len(strides) < value.dim():
        return torch_of
    return lambda array: _with_strides(torch_of(array), strides)


def _with_strides(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The same values with gaps, or with elements that are several of the tensor's."""
    whole = tensor.shape
    for dim, stride in enumerate(strides):
        if stride == 0 and tensor.shape[dim] > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor).expand(whole)
