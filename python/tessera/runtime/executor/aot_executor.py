"""A wrapper of programs that were compiled ahead of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..module import Module
from ..ndarray import NDArray

__all__ = ["AotModule"]


class AotModule:
    """Sets inputs, runs and reads outputs of a module with the functions of an executor ("set_input", "run", ...)."""

    def __init__(self, module: Module):
        self.module = module
        self._set_input = module["set_input"]
        self._run = module["run"]
        self._get_output = module["get_output"]
        self._get_input = module["get_input"]
        self._get_num_outputs = module["get_num_outputs"]
        self._get_input_index = module["get_input_index"]
        self._get_num_inputs = module["get_num_inputs"]

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Sets one input by name or index, or several by name."""
        if key is not None:
            if value is None:
                raise ValueError("set_input got an input without a value")
            self._set_one(key, value)
        # The largest first: what fails for want of memory fails early.
        for name in sorted(params, key=lambda name: -int(np.prod(params[name].shape))):
            if self.get_input_index(name) != -1:
                self._set_one(name, params[name])

    def _set_one(self, key: Any, value: Any) -> None:
        target = self._get_input(key)
        if target is None:
            raise RuntimeError(f"Could not find '{key}' in model's inputs")
        target.copyfrom(value)

    def run(self, **input_dict: Any) -> None:
        """Runs the program, after setting the inputs that are given."""
        if input_dict:
            self.set_input(**input_dict)
        self._run()

    def get_num_outputs(self) -> int:
        """How many outputs there are."""
        return int(self._get_num_outputs())

    def get_num_inputs(self) -> int:
        """How many inputs there are."""
        return int(self._get_num_inputs())

    def get_input(self, index: Any, out: NDArray | None = None) -> NDArray:
        """An input, by name or index; copied to `out` where that is given."""
        return self._copied(self._get_input(index), out)

    def get_input_index(self, name: str) -> int:
        """The index of an input, -1 where there is none of the name."""
        return int(self._get_input_index(name))

    def get_output(self, index: int, out: NDArray | None = None) -> NDArray:
        """An output; copied to `out` where that is given."""
        return self._copied(self._get_output(index), out)

    @staticmethod
    def _copied(value: NDArray, out: NDArray | None) -> NDArray:
        if out is None:
            return value
        value.copyto(out)
        return out
