"""Random numbers that programs draw when they run."""

import numpy as np
import tessera
from tessera import te
from tessera.contrib import random as contrib_random


def run(out):
    function = tessera.build(te.create_schedule(out.op), [out], "llvm")
    result = tessera.nd.empty([int(extent) for extent in out.shape], out.dtype)
    function(result)
    return result.numpy()


def test_random_numbers_are_drawn_at_run_time():
    integers = run(contrib_random.randint(-3, 4, (100, 10), "int32"))
    assert set(np.unique(integers)) == set(range(-3, 4))
    even = run(contrib_random.uniform(2.0, 5.0, (100, 10)))
    assert even.min() >= 2 and even.max() <= 5 and abs(even.mean() - 3.5) < 0.2
    bell = run(contrib_random.normal(3.0, 4.0, (100, 100)))
    assert abs(bell.mean() - 3) < 0.2 and abs(bell.std() - 4) < 0.2
    contrib_random.seed(5)
    first = run(contrib_random.uniform(0, 1, (8,)))
    contrib_random.seed(5)
    assert (run(contrib_random.uniform(0, 1, (8,))) == first).all()


def test_random_fill_fills_any_type():
    fill = tessera.get_global_func("tvm.contrib.random.random_fill")
    for dtype in ("float32", "float16", "int8", "uint8", "int64", "bool"):
        array = tessera.nd.array(np.zeros((50,), dtype))
        fill(array)
        assert len(np.unique(array.numpy())) > 1
