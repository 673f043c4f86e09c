"""Operators that read many elements each are compiled in time where one reads another."""

import numpy as np
import tessera
from tessera import relay


def test_two_cubic_resizes_are_compiled_in_time_and_right():
    x = relay.var("x", shape=(1, 2, 7, 7))
    first = relay.image.resize2d(x, (6, 8), method="cubic")
    both = relay.image.resize2d(first, (3, 3), method="cubic", coordinate_transformation_mode="align_corners")
    value = np.random.default_rng(0).random((1, 2, 7, 7)).astype("float32")
    answers = []
    for opt_level in (0, 3):
        with tessera.transform.PassContext(opt_level=opt_level):
            run = relay.create_executor("graph", tessera.IRModule.from_expr(both), tessera.cpu(), "llvm").evaluate()
        answers.append(run(value).numpy())
    np.testing.assert_allclose(*answers, rtol=1e-4, atol=1e-5)
