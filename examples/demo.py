"""A first program: add two vectors with code that was compiled a moment ago."""

import platform
import time

import numpy as np


def main() -> None:
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    try:
        import tessera
        from tessera import te
    except ImportError as error:
        print(f"tessera does not import yet ({error}); `make build` builds it")
        return
    print(f"Tessera {getattr(tessera, '__version__', '')}")

    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.placeholder((n,), name="B")
    c = te.compute((n,), lambda i: a[i] + b[i], name="C")
    schedule = te.create_schedule(c.op)
    outer, inner = schedule[c].split(c.op.axis[0], factor=64)
    schedule[c].parallel(outer)
    schedule[c].vectorize(inner)

    start = time.perf_counter()
    add = tessera.build(schedule, [a, b, c], target="llvm")
    print(f"compiled in {(time.perf_counter() - start) * 1e3:.0f} ms")

    x, y = (np.random.rand(1_000_000).astype("float32") for _ in range(2))
    out = tessera.nd.array(np.zeros_like(x))
    add(tessera.nd.array(x), tessera.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), x + y, rtol=1e-6)
    print("A + B is what NumPy says it is")


if __name__ == "__main__":
    main()
