"""Operators of older versions of Paddle, or of none: a program of another operator by that name, and what NumPy says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import Case, Pairs
from ._paddle_program import Program, Value, answers, ints, tensor


def _by_hand(
    operator: str, stand_in: str, inputs: dict[str, Value], expect: Callable[..., np.ndarray], **attributes: Any
) -> Case:
    """The program is made with an operator that this version has, whose name is then replaced by one of the same length."""

    def run() -> Pairs:
        import paddle
        from paddle.base import core

        made = Program(stand_in, inputs, {"Out": 1}, {}, {})
        variables = [made.program.global_block().var(name) for name in made.feed]
        program = paddle.static.normalize_program(made.program, variables, made.made)
        for op in program.global_block().ops:
            if op.type == stand_in:
                op.desc.set_type(operator)
                for name, value in attributes.items():
                    op.desc._set_attr(name, value)
        assert isinstance(program.desc, core.ProgramDesc)
        return zip(answers(program, made.feed, made.scope), [expect(*made.feed.values())], strict=True)

    return Case(operator, f"{operator} {attributes}", run)


def without_oracle() -> Iterator[Case]:
    """Cases of what Paddle 3 does not have."""
    x, y = tensor(2, 3, 4), tensor(2, 3, 4, seed=3, low=0.5)
    yield _by_hand("elementwise_prod", "elementwise_mul", {"X": x, "Y": y}, np.multiply, axis=-1)
    yield _by_hand("floor_mod", "elementwise_mod", {"X": x, "Y": y}, np.mod, axis=-1)
    a, b = ints(3, 4), ints(3, 4, low=1, seed=4)
    yield _by_hand("floor_mod", "elementwise_mod", {"X": a, "Y": -b}, np.mod, axis=-1)
    line, image = tensor(2, 3, 6), tensor(2, 3, 5, 6)
    for mode, name in (("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge")):
        value = {"constant_values": 0.5} if name == "constant" else {}

        def of_line(x: np.ndarray, mode: Any = name, value: Any = value) -> np.ndarray:
            return np.pad(x, [(0, 0), (0, 0), (2, 1)], mode, **value)

        def of_image(x: np.ndarray, mode: Any = name, value: Any = value) -> np.ndarray:
            return np.pad(x, [(0, 0), (0, 0), (1, 2), (3, 0)], mode, **value)

        yield _by_hand(
            "pad1d", "assign", {"X": line}, of_line, paddings=[2, 1], mode=mode, value=0.5, data_format="NCL"
        )
        order = {"paddings": [1, 2, 3, 0], "pad_value": 0.5, "data_format": "NCHW"}
        yield _by_hand("pad2d", "assign", {"X": image}, of_image, mode=name, **order)
