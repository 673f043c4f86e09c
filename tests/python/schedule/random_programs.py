"""Programs that random schedules are tried on: name -> function that makes a PrimFunc, and sizes for symbolic shapes."""

import tessera as tvm
import tessera.script
from tessera import te, tir


def placeholder(*shape, name="A", dtype="float32"):
    return te.placeholder(shape, name=name, dtype=dtype)


def matmul(n=12, m=10, l=8, dtype="float32"):
    a, b = placeholder(n, l, dtype=dtype), placeholder(l, m, name="B", dtype=dtype)
    k = te.reduce_axis((0, l), "k")
    return [a, b, te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def matmul_relu():
    a, b, c = matmul(8, 12, 9)
    return [a, b, te.compute(c.shape, lambda i, j: tir.Max(c[i, j], tir.const(0.0, "float32")), name="D")]


def matmul_bias_scale():
    a, b, c = matmul(8, 8, 16)
    bias = placeholder(8, name="bias")
    d = te.compute(c.shape, lambda i, j: c[i, j] + bias[j], name="D")
    return [a, b, bias, te.compute(c.shape, lambda i, j: d[i, j] * 2.0, name="E")]


def matmul_int8():
    a, b = placeholder(8, 8, dtype="int8"), placeholder(8, 8, name="B", dtype="int8")
    k = te.reduce_axis((0, 8), "k")
    product = lambda i, j: te.sum(a[i, k].astype("int32") * b[j, k].astype("int32"), axis=k)
    return [a, b, te.compute((8, 8), product, name="C")]


def two_matmuls():
    a, b, c = matmul(6, 8, 5)
    d = placeholder(8, 4, name="D")
    k = te.reduce_axis((0, 8), "k2")
    return [a, b, d, te.compute((6, 4), lambda i, j: te.sum(c[i, k] * d[k, j], axis=k), name="E")]


def conv2d():
    data, weight = placeholder(1, 3, 7, 7, name="D"), placeholder(4, 3, 3, 3, name="W")
    zero = tir.const(0.0, "float32")

    def padded(n, c, y, x):
        inside = te.all(y >= 1, y < 8, x >= 1, x < 8)
        return tir.if_then_else(inside, data[n, c, y - 1, x - 1], zero)

    pad = te.compute((1, 3, 9, 9), padded, name="pad")
    rc, ry, rx = (te.reduce_axis((0, 3), name) for name in ("rc", "ry", "rx"))
    conv = te.compute(
        (1, 4, 7, 7),
        lambda n, f, y, x: te.sum(pad[n, rc, y + ry, x + rx] * weight[f, rc, ry, rx], axis=[rc, ry, rx]),
        name="conv",
    )
    return [data, weight, te.compute(conv.shape, lambda *i: tir.Max(conv(*i), zero), name="relu")]


def depthwise_strided():
    data, weight = placeholder(4, 11, 11, name="D"), placeholder(4, 3, 3, name="W")
    ry, rx = te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    conv = te.compute(
        (4, 5, 5),
        lambda c, y, x: te.sum(data[c, y * 2 + ry, x * 2 + rx] * weight[c, ry, rx], axis=[ry, rx]),
        name="conv",
    )
    return [data, weight, conv]


def max_pool():
    a = placeholder(2, 9, 9)
    scaled = te.compute(a.shape, lambda c, y, x: a[c, y, x] * 0.5, name="S")
    ry, rx = te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    pool = te.compute((2, 4, 4), lambda c, y, x: te.max(scaled[c, y * 2 + ry, x * 2 + rx], axis=[ry, rx]), name="P")
    return [a, te.compute(pool.shape, lambda *i: pool(*i) + 1.0, name="O")]


def avg_pool():
    a = placeholder(3, 8, 8)
    ry, rx = te.reduce_axis((0, 2), "ry"), te.reduce_axis((0, 2), "rx")
    total = te.compute((3, 4, 4), lambda c, y, x: te.sum(a[c, y * 2 + ry, x * 2 + rx], axis=[ry, rx]), name="W")
    return [a, te.compute(total.shape, lambda *i: total(*i) * 0.25, name="O")]


def row_sum():
    a = placeholder(10, 14)
    k = te.reduce_axis((0, 14), "k")
    total = te.compute((10,), lambda i: te.sum(a[i, k], axis=k), name="S")
    return [a, te.compute((10, 14), lambda i, j: a[i, j] - total[i], name="O")]


def sum_all():
    a = placeholder(9, 6)
    i, j = te.reduce_axis((0, 9), "ri"), te.reduce_axis((0, 6), "rj")
    return [a, te.compute((), lambda: te.sum(a[i, j], axis=[i, j]), name="S")]


def product():
    a = placeholder(5, 6)
    k = te.reduce_axis((0, 6), "k")
    times = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="prod")
    return [a, te.compute((5,), lambda i: times(a[i, k], axis=k), name="P")]


def softmax():
    a = placeholder(6, 10)
    k, k2 = te.reduce_axis((0, 10), "k"), te.reduce_axis((0, 10), "k2")
    largest = te.compute((6,), lambda i: te.max(a[i, k], axis=k), name="M")
    power = te.compute((6, 10), lambda i, j: te.exp(a[i, j] - largest[i]), name="E")
    total = te.compute((6,), lambda i: te.sum(power[i, k2], axis=k2), name="S")
    return [a, te.compute((6, 10), lambda i, j: power[i, j] / total[i], name="O")]


def chain():
    a = placeholder(12, 10)
    b = te.compute(a.shape, lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute(a.shape, lambda i, j: b[i, j] + 1.0, name="C")
    return [a, te.compute(a.shape, lambda i, j: c[i, j] * c[i, j], name="D")]


def transposed_chain():
    a = placeholder(6, 10)
    b = te.compute((10, 6), lambda i, j: a[j, i] * 2.0, name="B")
    return [a, te.compute((6, 10), lambda i, j: b[j, i] + a[i, j], name="C")]


def stencil():
    a = placeholder(20)
    b = te.compute((20,), lambda i: a[i] * 3.0, name="B")
    c = te.compute((18,), lambda i: b[i] + b[i + 1] + b[i + 2], name="C")
    return [a, te.compute((16,), lambda i: c[i] - c[i + 2], name="D")]


def diamond():
    a = placeholder(8, 9)
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1.0, name="B")
    left = te.compute(a.shape, lambda i, j: b[i, j] * 2.0, name="L")
    right = te.compute(a.shape, lambda i, j: b[7 - i, j], name="R")
    return [a, te.compute(a.shape, lambda i, j: left[i, j] - right[i, j], name="D")]


def partly_read():
    a = placeholder(16)
    b = te.compute((16,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[i * 2], name="C")
    joined = te.compute((16,), lambda i: tir.if_then_else(i < 8, b[i], tir.const(0.0, "float32")), name="J")
    return [a, c, joined]


def argmax():
    value, index = placeholder(4, 9, dtype="int32"), placeholder(4, 9, name="I", dtype="int32")
    k = te.reduce_axis((0, 9), "k")
    pick = te.comm_reducer(
        lambda l, r: (tir.Select(l[1] >= r[1], l[0], r[0]), tir.Select(l[1] >= r[1], l[1], r[1])),
        lambda a, b: (tir.const(-1, a), tir.min_value(b)),
        name="pick",
    )
    best = te.compute((4,), lambda i: pick((index[i, k], value[i, k]), axis=k), name="R")
    return [index, value, best[0], best[1]]


def symbolic_chain():
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="A")
    b = te.compute((n, m), lambda i, j: a[i, j] * 2.0, name="B")
    return [a, te.compute((n, m), lambda i, j: b[i, j] + 1.0, name="C")]


def symbolic_matmul():
    n, m, l = te.var("n"), te.var("m"), te.var("l")
    return matmul(n, m, l)


def symbolic_rows():
    n = te.var("n")
    a = te.placeholder((n, 6), name="A")
    k = te.reduce_axis((0, 6), "k")
    total = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="S")
    return [a, te.compute((n, 6), lambda i, j: a[i, j] - total[i], name="O")]


def symbolic_int64():
    n = te.var("n", "int64")
    a = te.placeholder((n, 5), name="A")
    b = te.compute((n, 5), lambda i, j: a[i, j] + 1.0, name="B")
    return [a, te.compute((n, 5), lambda i, j: b[i, j] * 2.0, name="C")]


SCRIPTS = {
    "guarded": """
@T.prim_func
def func(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)
    for i in T.serial(20):
        with T.block("C"):
            T.where(i < 16)
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] * T.float32(2)
""",
    "guarded_by_value": """
@T.prim_func
def func(A: T.Buffer[(16,), "float32"], D: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(16):
        with T.block("Z"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.float32(7)
    for i in T.serial(16):
        with T.block("B"):
            T.where(i < 5)
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)
    for i in T.serial(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = B[vi] * T.float32(2)
""",
    "in_place": """
@T.prim_func
def func(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[15 - vi] + T.float32(1)
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            A[vi] = B[vi] * T.float32(2)
    for i in T.serial(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[vi] + B[15 - vi]
""",
    "halves": """
@T.prim_func
def func(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(8):
        with T.block("low"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
    for i in T.serial(8):
        with T.block("high"):
            vi = T.axis.spatial((8, 16), i + 8)
            B[vi] = A[vi] + T.float32(2)
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[15 - vi]
""",
    "running_sum": """
@T.prim_func
def func(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([17], "float32")
    for i in T.serial(17):
        with T.block("Z"):
            vi = T.axis.spatial(17, i)
            B[vi] = T.float32(0)
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.opaque(16, i)
            T.reads(B[vi], A[vi])
            T.writes(B[vi + 1])
            B[vi + 1] = B[vi] + A[vi]
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi + 1]
""",
    "from_five": """
@T.prim_func
def func(A: T.Buffer[(12, 6), "float32"], C: T.Buffer[(12,), "float32"]):
    B = T.alloc_buffer([12], "float32")
    for i, k in T.grid(12, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(5)
            B[vi] = B[vi] + A[vi, vk]
    for i in T.serial(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = B[vi] * T.float32(2)
""",
    "offset_loops": """
@T.prim_func
def func(A: T.Buffer[(16,), "float32"], C: T.Buffer[(16,), "float32"]):
    B = T.alloc_buffer([16], "float32")
    for i in T.serial(2, 18):
        with T.block("B"):
            vi = T.axis.spatial(16, i - 2)
            B[vi] = A[vi] + T.float32(1)
    for i in T.serial(16):
        with T.block("C"):
            vi = T.axis.spatial(16, 15 - i)
            C[vi] = B[vi] * T.float32(2)
""",
}

COMPUTES = [
    matmul, matmul_relu, matmul_bias_scale, matmul_int8, two_matmuls, conv2d, depthwise_strided, max_pool, avg_pool,
    row_sum, sum_all, product, softmax, chain, transposed_chain, stencil, diamond, partly_read, argmax,
    symbolic_chain, symbolic_matmul, symbolic_rows, symbolic_int64,
]  # fmt: skip

PROGRAMS = {f.__name__: (lambda f=f: te.create_prim_func(f())) for f in COMPUTES}
PROGRAMS.update({name: (lambda text=text: tvm.script.from_source(text)) for name, text in SCRIPTS.items()})

#: Values of shape variables to run with: some that divide evenly, some that do not, and the smallest.
SIZES = [{"n": 8, "m": 12, "l": 4}, {"n": 7, "m": 5, "l": 9}, {"n": 1, "m": 1, "l": 1}]
