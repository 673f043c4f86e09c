"""Programs for devices with threads: schedule and arguments, inputs, the answer, and how near it has to come.

Each entry of PROGRAMS is a function without parameters; every device's test goes through the table.
"""

import numpy as np
from programs import AROUND_THE_ENDS, truncated_float
from tessera import te, tir
from tessera.tir.tensor_intrin import cuda

PROGRAMS = {}


def program(name, *args):
    def register(make):
        PROGRAMS[name] = lambda: make(*args)
        return make

    return register


def block(name="x"):
    return te.thread_axis(f"blockIdx.{name}")


def thread(extent=None, name="x"):
    return te.thread_axis((0, extent) if extent else None, f"threadIdx.{name}")


def bind_all(s, tensor, threads=32):
    """One element a thread."""
    fused = s[tensor].fuse(*tensor.op.axis)
    outer, inner = s[tensor].split(fused, factor=threads)
    s[tensor].bind(outer, block())
    s[tensor].bind(inner, thread())


def reduce_across(s, tensor, threads):
    """The reduction of `tensor` by `threads` threads, each of a part."""
    _, inner = s[tensor].split(s[tensor].op.reduce_axis[0], factor=threads)
    partial = s.rfactor(tensor, inner)
    s[tensor].bind(s[tensor].op.reduce_axis[0], thread(threads))
    first = partial[0] if hasattr(partial, "__len__") else partial
    s[first].compute_at(s[tensor], s[tensor].op.reduce_axis[0])


def samples(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, -100), min(info.max, 100), shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def elementwise(dtype):
    a, b = te.placeholder((100,), dtype, name="A"), te.placeholder((100,), dtype, name="B")
    c = te.compute((100,), lambda i: te.max(a[i] * b[i], a[i] - b[i]) + a[i], name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples(dtype, 100), samples(dtype, 100, 1)
    with np.errstate(over="ignore"):
        wanted = np.maximum(x * y, x - y) + x
    return s, [a, b, c], [x, y], wanted, 0 if "int" in dtype else 4 * np.finfo(dtype).eps


def real_function(name, reference, dtype):
    a = te.placeholder((64,), dtype, name="A")
    b = te.compute((64,), lambda i: getattr(te, name)(a[i]), name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    x = np.abs(samples(dtype, 64)) + np.dtype(dtype).type(0.25)
    return s, [a, b], [x], reference(x.astype("float64")), 8 * np.finfo(dtype).eps


def vector(dtype, lanes):
    n = lanes * 24
    a, b = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    c = te.compute((n,), lambda i: tir.Select(a[i] < b[i], a[i] + b[i], a[i]), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=lanes)
    bx, tx = s[c].split(outer, factor=8)
    s[c].bind(bx, block())
    s[c].bind(tx, thread())
    s[c].vectorize(inner)
    x, y = samples(dtype, n), samples(dtype, n, 1)
    return s, [a, b, c], [x, y], np.where(x < y, x + y, x), 0


def casts(source, target):
    a = te.placeholder((64,), source, name="A")
    b = te.compute((64,), lambda i: a[i].astype(target), name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    x = samples(source, 64)
    return s, [a, b], [x], x.astype(target), 0


def integer_of(source, target):
    """Also of NaN and what does not fit: as on CPUs."""
    with np.errstate(over="ignore"):
        x = np.array(AROUND_THE_ENDS).astype(source)
    a = te.placeholder(x.shape, source, name="A")
    b = te.compute(x.shape, lambda i: a[i].astype(target), name="B")
    s = te.create_schedule(b.op)
    bind_all(s, b)
    return s, [a, b], [x], np.array([truncated_float(float(v), target) for v in x], target), 0


def extremes_with_nan(dtype):
    """Against a constant on either side, and of two elements."""
    a, b = te.placeholder((100,), dtype, name="A"), te.placeholder((100,), dtype, name="B")
    low, high = tir.const(-1, dtype), tir.const(1, dtype)
    c = te.compute((100,), lambda i: te.max(low, te.min(te.min(a[i], b[i]), high)) + te.max(a[i], b[i]), name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples(dtype, 100), samples(dtype, 100, 1)
    x[::3], y[::4] = np.nan, np.nan
    return s, [a, b, c], [x, y], np.clip(np.minimum(x, y), -1, 1) + np.maximum(x, y), 0


def rows_with_nan(threads):
    n, m = 6, 150
    a = te.placeholder((n, m), "float32", name="A")
    k = te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    reduce_across(s, b, threads)
    s[b].bind(s[b].op.axis[0], block())
    x = samples("float32", (n, m))
    x[0, 0] = x[1, 77] = x[2, m - 1] = x[3, :] = np.nan
    return s, [a, b], [x], x.max(1), 0


def row_sums(threads, dtype="float32"):
    n, m = 5, 150
    a = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    reduce_across(s, b, threads)
    s[b].bind(s[b].op.axis[0], block())
    x = samples(dtype, (n, m))
    tolerance = {"float32": 1e-4, "float16": 2e-2}.get(dtype, 0)
    return s, [a, b], [x], x.sum(1, dtype="float64"), tolerance


def rows_of_a_block():
    n, m, rows = 12, 64, 4
    a = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")
    b = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    reduce_across(s, b, 16)
    io, ii = s[b].split(s[b].op.axis[0], factor=rows)
    s[b].bind(io, block())
    s[b].bind(ii, thread(rows, "y"))
    x = samples("int32", (n, m))
    return s, [a, b], [x], x.max(1), 0


def tiled_matmul(n, tile, dtype="float32", double_buffer=False, scope="shared"):
    a, b = te.placeholder((n, n), dtype, name="A"), te.placeholder((n, n), dtype, name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    aa, bb = s.cache_read(a, scope, [c]), s.cache_read(b, scope, [c])
    cl = s.cache_write(c, "local")
    i, j = c.op.axis
    bi, ti = s[c].split(i, factor=tile)
    bj, tj = s[c].split(j, factor=tile)
    s[c].reorder(bi, bj, ti, tj)
    s[c].bind(bi, block("y"))
    s[c].bind(bj, block("x"))
    s[c].bind(ti, thread(tile, "y"))
    s[c].bind(tj, thread(tile, "x"))
    s[cl].compute_at(s[c], tj)
    ko, _ = s[cl].split(s[cl].op.reduce_axis[0], factor=tile)
    for shared in (aa, bb):
        s[shared].compute_at(s[cl], ko)
        y, x = s[shared].op.axis
        s[shared].bind(y, thread(tile, "y"))
        s[shared].bind(x, thread(tile, "x"))
        if double_buffer:
            s[shared].double_buffer()
    return s, [a, b, c]


def matmul(dtype, double_buffer, scope="shared"):
    x, y = samples(dtype, (48, 48)), samples(dtype, (48, 48), 1)
    tolerance = {"float32": 1e-4, "int32": 0, "float16": 0.3}[dtype]
    s, args = tiled_matmul(48, 8, dtype, double_buffer, scope)
    return s, args, [x, y], x.astype("float64") @ y.astype("float64"), tolerance


def softmax():
    n, m, threads = 9, 100, 32
    a = te.placeholder((n, m), name="A")
    k1, k2 = te.reduce_axis((0, m), "k1"), te.reduce_axis((0, m), "k2")
    largest = te.compute((n,), lambda i: te.max(a[i, k1], axis=k1), name="largest")
    e = te.compute((n, m), lambda i, j: te.exp(a[i, j] - largest[i]), name="e")
    total = te.compute((n,), lambda i: te.sum(e[i, k2], axis=k2), name="total")
    out = te.compute((n, m), lambda i, j: e[i, j] / total[i], name="out")
    s = te.create_schedule(out.op)
    s[e].compute_inline()
    row, col = out.op.axis
    _, inner = s[out].split(col, factor=threads)
    s[out].bind(row, block())
    s[out].bind(inner, thread(threads))
    for stage in (largest, total):
        s[stage].compute_at(s[out], row)
        s[stage].set_scope("shared")
        reduce_across(s, stage, threads)
    x = samples("float32", (n, m))
    y = np.exp(x - x.max(1, keepdims=True))
    return s, [a, out], [x], y / y.sum(1, keepdims=True), 1e-5


def transpose():
    a = te.placeholder((16, 8), name="A")
    b = te.compute((8, 16), lambda i, j: a[j, i], name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[1], factor=4)
    s[b].bind(b.op.axis[0], block())
    s[b].bind(outer, thread())
    s[b].vectorize(inner)
    x = samples("float32", (16, 8))
    return s, [a, b], [x], x.T, 0


def logic():
    a, b = te.placeholder((64,), "bool", name="A"), te.placeholder((64,), "float32", name="B")
    c = te.compute((64,), lambda i: tir.all(a[i], b[i] > 0.0), name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples("bool", 64), samples("float32", 64)
    return s, [a, b, c], [x, y], x & (y > 0), 0


def division():
    a, b = te.placeholder((64,), "int32", name="A"), te.placeholder((64,), "int32", name="B")
    c = te.compute((64,), lambda i: tir.floordiv(a[i], b[i]) * 1000 + tir.floormod(a[i], b[i]), name="C")
    s = te.create_schedule(c.op)
    bind_all(s, c)
    x, y = samples("int32", 64), samples("int32", 64, 1)
    y[y == 0] = 3
    return s, [a, b, c], [x, y], x // y * 1000 + x % y, 0


NUMBERS = ["float32", "float64", "float16", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
for _dtype in NUMBERS:
    program(f"elementwise_{_dtype}", _dtype)(elementwise)
for _dtype in ("float32", "int8", "float16", "int64", "uint16"):
    for _lanes in (2, 4, 8, 16):
        program(f"vector_{_dtype}x{_lanes}", _dtype, _lanes)(vector)
for _name, _reference in {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "cos": np.cos,
    "floor": np.floor,
    "round": lambda x: np.floor(x + 0.5),
    "rsqrt": lambda x: 1 / np.sqrt(x),
}.items():
    for _dtype in ("float32", "float16"):
        program(f"{_name}_{_dtype}", _name, _reference, _dtype)(real_function)
for _source, _target in [
    ("float32", "float16"),
    ("float16", "float32"),
    ("int32", "float16"),
    ("uint8", "float16"),
    ("float16", "int32"),
    ("float64", "float16"),
    ("int64", "float32"),
    ("bool", "float32"),
    ("float32", "bool"),
    ("int8", "int64"),
]:
    program(f"{_source}_as_{_target}", _source, _target)(casts)
for _source in ("float16", "float32", "float64"):
    program(f"extremes_with_nan_{_source}", _source)(extremes_with_nan)
    for _target in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        program(f"{_target}_of_{_source}", _source, _target)(integer_of)
for _threads in (1, 32, 33):
    program(f"rows_with_nan_{_threads}", _threads)(rows_with_nan)
for _threads in (1, 2, 7, 16, 32, 33, 64):
    program(f"row_sums_{_threads}", _threads)(row_sums)
program("row_sums_float16", 32, "float16")(row_sums)
program("row_sums_int64", 32, "int64")(row_sums)
program("rows_of_a_block")(rows_of_a_block)
for _dtype in ("float32", "int32", "float16"):
    program(f"matmul_{_dtype}", _dtype, False)(matmul)
    program(f"matmul_double_buffered_{_dtype}", _dtype, True)(matmul)
program("softmax")(softmax)
program("transpose")(transpose)
program("logic")(logic)
program("division")(division)


# ---- for CUDA alone: what needs warps or tensor cores ----

CUDA_PROGRAMS = {}


def warp_rotation():
    """Each thread reads what its neighbour loaded, through registers."""
    n = 128
    a = te.placeholder((n,), "float32", name="A")
    b = te.compute((n,), lambda i: a[i // 32 * 32 + (i + 1) % 32], name="B")
    s = te.create_schedule(b.op)
    aa = s.cache_read(a, "warp", [b])
    outer, inner = s[b].split(b.op.axis[0], 32)
    tx = thread()
    s[b].bind(inner, tx)
    s[b].bind(outer, block())
    s[aa].compute_at(s[b], outer)
    s[aa].bind(s[aa].op.axis[0], tx)
    x = samples("float32", n)
    return s, [a, b], [x], np.roll(x.reshape(-1, 32), -1, axis=1).reshape(-1), 0


def matrix_function(emit, shapes):
    """A function of one warp over flat float16, float16, float32 buffers."""
    ib = tir.ir_builder.create()
    types = ("float16", "float16", "float32")
    buffers = [tir.decl_buffer((size,), dtype, name=n) for n, dtype, size in zip("ABC", types, shapes)]
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", 32)
    emit(ib, tx.var, *buffers)
    handles = [tir.Var(n, "handle") for n in "abc"]
    return tir.PrimFunc(handles, ib.get(), buffer_map=dict(zip(handles, buffers))).with_attr("global_symbol", "f")


def wmma_product():
    def emit(ib, _, A, B, C):
        a = ib.allocate("float16", 256, name="fa", scope="wmma.matrix_a").asobject()
        b = ib.allocate("float16", 256, name="fb", scope="wmma.matrix_b").asobject()
        c = ib.allocate("float32", 256, name="fc", scope="wmma.accumulator").asobject()
        ib.emit(tir.tvm_fill_fragment(c, 16, 16, 16, 0, tir.const(0.0, "float32")))
        ib.emit(tir.tvm_load_matrix_sync(a, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major"))
        ib.emit(tir.tvm_load_matrix_sync(b, 16, 16, 16, 0, B.access_ptr("r"), 16, "row_major"))
        ib.emit(tir.tvm_mma_sync(c, 0, a, 0, b, 0, c, 0))
        ib.emit(tir.tvm_store_matrix_sync(c, 16, 16, 16, 0, C.access_ptr("w"), 16, "row_major"))

    x, y = samples("float16", (16, 16)), samples("float16", (16, 16), 1)
    wanted = x.astype("float32") @ y.astype("float32")
    return matrix_function(emit, (256, 256, 256)), None, [x.reshape(-1), y.reshape(-1)], wanted.reshape(-1), 1e-3


def mma_product(scope="local"):
    """C = A * B, all 16x16: cp.async into shared memory, ldmatrix, two mma of eight columns each.

    Registers are a thread's own ("local"), or a share of memory that a warp has together ("warp").
    """

    def emit(ib, tx, A, B, C):
        size, own = (8, 0) if scope == "local" else (256, tx * 8)
        shared = ib.allocate("float16", 256, name="S", scope="shared")
        a = ib.allocate("float16", size, name="a", scope=scope)
        b = ib.allocate("float16", 8, name="b", scope="local")
        c = ib.allocate("float32", size, name="c", scope=scope)
        ib.emit(tir.ptx_cp_async("float16", shared.asobject(), tx * 8, A.data, tx * 8, 16))
        ib.emit(tir.ptx_commit_group())
        ib.emit(tir.ptx_wait_group(0))
        ib.emit(tir.mma_fill("float32", 8, c.asobject(), 0))
        at = tx % 16 * 16 + tx // 16 * 8
        ib.emit(tir.ptx_ldmatrix("float16", False, 4, ".b16", a.asobject(), own, shared.asobject(), at))
        with ib.for_range(0, 8) as i:  # columns of B: the fragment of mma, by hand
            row = tx % 4 * 2 + i % 2 + i // 2 % 2 * 8
            b[i] = tir.BufferLoad(B, [row * 16 + i // 4 * 8 + tx // 4])
        types = ("row", "col", "fp16", "fp16", "fp32")
        for half in (0, 4):
            pointers = (a.asobject(), own, b.asobject(), half, c.asobject(), own + half)
            ib.emit(tir.ptx_mma("float32", "m16n8k16", *types, *pointers, False))
        ib.emit(tir.mma_store("float32", 16, 16, C.access_ptr("w"), c.asobject(), own, 16))

    x, y = samples("float16", (16, 16)), samples("float16", (16, 16), 1)
    wanted = x.astype("float32") @ y.astype("float32")
    return matrix_function(emit, (256, 256, 256)), None, [x.reshape(-1), y.reshape(-1)], wanted.reshape(-1), 1e-3


def scheduled_wmma(in_dtype, out_dtype, transposed, n=64):
    """A product of blocks, each block of 16x16 by one warp through shared memory and fragments."""
    a, b = te.placeholder((n, n), in_dtype, "A"), te.placeholder((n, n), in_dtype, "B")
    k = te.reduce_axis((0, n), "k")
    wide = lambda x: x if in_dtype == out_dtype else x.astype(out_dtype)
    c = te.compute(
        (n, n), lambda i, j: te.sum(wide(a[i, k]) * wide(b[j, k] if transposed else b[k, j]), axis=k), name="C"
    )
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    product = sch.get_block("C")
    i, j, k = sch.get_loops(product)
    io, ii = sch.split(i, [None, 16])
    jo, ji = sch.split(j, [None, 16])
    ko, ki = sch.split(k, [None, 16])
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.bind(io, "blockIdx.y")
    sch.bind(jo, "blockIdx.x")
    loads = []
    for index, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
        shared = sch.cache_read(product, index, "shared")
        loads.append(sch.cache_read(product, index, scope))
        sch.compute_at(loads[-1], ko)
        sch.compute_at(shared, ko)
        _, lane = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 32])
        sch.bind(lane, "threadIdx.x")
    store = sch.cache_write(product, 0, "wmma.accumulator")
    sch.reverse_compute_at(store, jo)
    init = sch.decompose_reduction(product, ko)
    group = cuda.get_wmma_intrin_group("global", in_dtype, out_dtype, transposed)
    sch.tensorize(sch.get_loops(init)[2], group["init"])
    sch.tensorize(sch.get_loops(loads[0])[3], group["load_a"])
    sch.tensorize(sch.get_loops(loads[1])[3], group["load_b"])
    sch.tensorize(ii, group["compute"])
    sch.tensorize(sch.get_loops(store)[2], group["store"])
    x, y = samples(in_dtype, (n, n)), samples(in_dtype, (n, n), 1)
    wanted = x.astype("float64") @ (y.T if transposed else y).astype("float64")
    tolerance = {"int32": 0, "float32": 1e-2, "float16": 0.3}[out_dtype]
    return sch.mod["main"], None, [x, y], wanted.astype(out_dtype), tolerance


CUDA_PROGRAMS["warp_rotation"] = warp_rotation
CUDA_PROGRAMS["scheduled_wmma"] = lambda: scheduled_wmma("float16", "float32", False)
CUDA_PROGRAMS["scheduled_wmma_transposed"] = lambda: scheduled_wmma("float16", "float16", True)
CUDA_PROGRAMS["scheduled_wmma_int8"] = lambda: scheduled_wmma("int8", "int32", False)
CUDA_PROGRAMS["wmma_product"] = wmma_product
CUDA_PROGRAMS["mma_product"] = mma_product
CUDA_PROGRAMS["mma_product_in_warp_memory"] = lambda: mma_product("warp")
CUDA_PROGRAMS["matmul_dynamic_shared"] = lambda: matmul("float16", False, "shared.dyn")
CUDA_PROGRAMS["matmul_dynamic_shared_double"] = lambda: matmul("float32", True, "shared.dyn")
