"""Programs of PaddlePaddle of one operator, in both forms that it writes, and what both sides answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import Case, Pairs

os.environ.setdefault("FLAGS_enable_pir_api", "0")  # operators by the names of the list; see `pairs_of`

Value = Any  # an array, or a list of them for a slot that takes several


def tensor(*shape: int, seed: int = 0, low: float = -2, high: float = 2, dtype: str = "float32") -> np.ndarray:
    return np.random.RandomState(seed).uniform(low, high, shape).astype(dtype)


def ints(*shape: int, seed: int = 0, low: int = -9, high: int = 9, dtype: str = "int64") -> np.ndarray:
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)


def bools(*shape: int, seed: int = 0) -> np.ndarray:
    return tensor(*shape, seed=seed) > 0


class Program:
    """A program of one operator, with its inputs as those of the program and `constants` as parameters."""

    def __init__(
        self,
        operator: str,
        inputs: dict[str, Value],
        outputs: Mapping[str, int | str],
        constants: dict[str, Value],
        attributes: dict[str, Any],
    ) -> None:
        import paddle

        paddle.enable_static()
        self.program = paddle.static.Program()
        self.feed: dict[str, np.ndarray] = {}
        self.held: dict[str, np.ndarray] = {}
        self.scope = paddle.static.Scope()
        self.made: list[Any] = []
        with paddle.static.program_guard(self.program):
            block = self.program.global_block()
            named: dict[str, list[Any]] = {}
            for slot, value in {**inputs, **constants}.items():
                for one in value if isinstance(value, list) else [value]:
                    named.setdefault(slot, []).append(self._variable(block, slot, one, slot in constants))
            results: dict[str, list[Any]] = {}
            for slot, count in outputs.items():
                if isinstance(count, str):  # written in place of an input
                    results[slot] = named[count]
                    continue
                results[slot] = [block.create_var(dtype="float32") for _ in range(abs(count))]
                self.made += results[slot] if count > 0 else []  # fewer than none: made, but not compared
            block.append_op(type=operator, inputs=named, outputs=results, attrs=attributes)

    def _variable(self, block: Any, slot: str, value: np.ndarray, is_constant: bool) -> Any:
        import paddle

        name = f"{slot}_{len(self.feed) + len(self.held)}"
        if not is_constant:
            self.feed[name] = value
            return paddle.static.data(name, list(value.shape), str(value.dtype))
        self.held[name] = value
        var = block.create_parameter(name=name, shape=list(value.shape) or [1], dtype=str(value.dtype))
        self.scope.var(name).get_tensor().set(value, paddle.CPUPlace())
        return var

    def run(self) -> list[np.ndarray]:
        import paddle

        executor = paddle.static.Executor(paddle.CPUPlace())
        with paddle.static.scope_guard(self.scope):
            return [np.asarray(x) for x in executor.run(self.program, feed=self.feed, fetch_list=self.made)]


def answers(program: Any, feed: dict[str, np.ndarray], scope: Any) -> list[np.ndarray]:
    """What Tessera answers."""
    from tessera import relay

    mod, params = relay.frontend.from_paddle(program, {name: value.shape for name, value in feed.items()}, scope)
    out = relay.create_executor("vm", mod).evaluate()(**feed, **params)
    return [out.numpy()] if hasattr(out, "numpy") else [one.numpy() for one in out]


def pairs_of(made: Program) -> Pairs:
    """Both forms of a program: descriptions of operators, and PIR, which Paddle translates them to.

    The translation is a program of its own, which forgets attributes of a few operators and is then not one that runs.
    """
    import paddle
    from paddle.base.libpaddle import pir

    inputs = [made.program.global_block().var(name) for name in made.feed]
    program = paddle.static.normalize_program(made.program, inputs, made.made)
    yield from zip(answers(program, made.feed, made.scope), made.run(), strict=True)
    translated = pir.translate_to_pir(program.desc)
    try:
        with paddle.pir_utils.IrGuard(), paddle.static.scope_guard(made.scope):
            want = paddle.static.Executor(paddle.CPUPlace()).run(translated, feed=made.feed, fetch_list=[])
    except ValueError:
        return
    yield from zip(answers(translated, made.feed, made.scope), want, strict=True)


def case(
    operator: str,
    inputs: dict[str, Value],
    outputs: Mapping[str, int | str] | str = "Out",
    constants: dict[str, Value] | None = None,
    name: str = "",
    tolerance: float = 1e-4,
    **attributes: Any,
) -> Case:
    """A case of one operator. `outputs` are its results by slot and how many each has."""
    made: Mapping[str, int | str] = {outputs: 1} if isinstance(outputs, str) else outputs

    def run() -> Pairs:
        return pairs_of(Program(operator, inputs, made, constants or {}, attributes))

    shapes = [list(np.shape(x)) for v in inputs.values() for x in (v if isinstance(v, list) else [v])]
    return Case(operator, name or f"{operator} {shapes} {attributes}", run, tolerance)
