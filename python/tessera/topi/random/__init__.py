"""Random numbers from keys; signatures are v0.10's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._ffi.registry import get_global_func
from tessera.te import Tensor

from ... import te
from ...driver import build
from ...runtime import ndarray as nd
from ...target import Target
from ...tir import const

__all__ = ["multinomial", "normal", "threefry_generate", "threefry_split", "threefry_test_wrapping", "uniform"]


def _number(value: Any) -> Any:
    return value() if isinstance(value, Tensor) else value


def threefry_generate(gen: Tensor, out_shape: Any) -> Any:
    """The next key, and random uint64 numbers."""
    return get_global_func("topi.random.threefry_generate")(gen, [*out_shape])


def threefry_split(gen: Tensor) -> Any:
    """Two keys whose numbers have nothing to do with each other."""
    return get_global_func("topi.random.threefry_split")(gen)


def threefry_test_wrapping(target: Any, device: Any) -> bool:
    """True when unsigned integers of a target wrap around, as the generators need."""
    largest = te.placeholder((1,), "uint64", name="largest")
    out = te.compute((1,), lambda i: largest[i] + const(1, "uint64"), name="wrapped")
    schedule = te.create_schedule(out.op)
    if "gpu" in Target(target).keys:
        schedule[out].bind(out.op.axis[0], te.thread_axis("threadIdx.x"))
    result = nd.array(np.ones(1, "uint64"), device)
    build(schedule, [largest, out], target)(nd.array(np.full(1, 2**64 - 1, "uint64"), device), result)
    return int(result.numpy()[0]) == 0


def uniform(gen: Tensor, low: Any, high: Any, out_shape: Any, out_dtype: str) -> Any:
    """The next key, and random numbers from low to below high."""
    return get_global_func("topi.random.uniform")(gen, _number(low), _number(high), [*out_shape], out_dtype)


def normal(gen: Tensor, mean: Any, scale: Any, out_shape: Any, out_dtype: str) -> Any:
    """The next key, and random numbers of a normal distribution."""
    return get_global_func("topi.random.normal")(gen, _number(mean), _number(scale), [*out_shape], out_dtype)


def multinomial(gen: Tensor, probs: Tensor, num_samples: int) -> Any:
    """The next key, and random outcomes by their probabilities."""
    return get_global_func("topi.random.multinomial")(gen, probs, num_samples)
