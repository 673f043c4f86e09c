"""A code generator in Python: convolutions and relu as C loops, everything else by Tessera's own kernels.

    python examples/external_codegen.py        # a partitioned resnet50 beside the whole one

docs/tutorials/external_codegen.md explains each step.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tessera
from tessera import relay
from tessera.contrib import graph_executor
from tessera.relay import testing, transform

LOOPS = """  {{ static float in[{C}][{PH}][{PW}]; float* out = {out}; memset(out, 0, {O} * {H} * {W} * 4);
    for (int c = 0; c < {C}; ++c) for (int y = 0; y < {IH}; ++y)
      memcpy(&in[c][y + {P}][{P}], {data} + (c * {IH} + y) * {IW}, {IW} * 4);
    for (int o = 0; o < {O}; ++o) for (int c = 0; c < {C}; ++c) for (int k = 0; k < {K}; ++k) for (int l = 0; l < {K}; ++l) {{
      float w = {weight}[((o * {C} + c) * {K} + k) * {K} + l];
      for (int y = 0; y < {H}; ++y) for (int x = 0; x < {W}; ++x)
        out[(o * {H} + y) * {W} + x] += w * in[c][y * {S} + k][x * {S} + l]; }} }}"""


def is_taken(conv: Any) -> bool:
    """Batches of one, square windows, and nothing out of the ordinary."""
    attrs, data = conv.attrs, conv.args[0].checked_type
    plain = attrs.data_layout == "NCHW" and attrs.kernel_layout == "OIHW" and attrs.groups == 1
    return plain and data.shape[0] == 1 and data.dtype == "float32" and len(set(map(int, attrs.padding))) == 1


def generate(function: Any) -> Any:
    """relay.ext.loops: C source for a function of convolutions; its arguments are tensors, the results last."""
    symbol = str(function.attrs["global_symbol"])
    body: list[str] = []
    names: dict[Any, str] = {}

    def size(expr: Any) -> int:
        return int(np.prod([int(extent) for extent in expr.checked_type.shape]))

    def visit(expr: Any) -> None:
        if isinstance(expr, relay.Call):
            names[expr] = out = f"buf{len(names)}"
            a = names[expr.args[0]]
            if expr.op.name == "nn.relu":
                body.append(f"  for (int i = 0; i < {size(expr)}; ++i) {out}[i] = {a}[i] > 0 ? {a}[i] : 0;")
            else:
                (_, C, IH, IW), (_, O, H, W) = (map(int, e.checked_type.shape) for e in (expr.args[0], expr))
                P, S, K = (int(getattr(expr.attrs, name)[0]) for name in ("padding", "strides", "kernel_size"))
                shape = {"C": C, "IH": IH, "IW": IW, "O": O, "H": H, "W": W, "P": P, "S": S, "K": K}
                body.append(
                    LOOPS.format(out=out, data=a, weight=names[expr.args[1]], PH=IH + 2 * P, PW=IW + 2 * P, **shape)
                )
            body.insert(0, f"  static float {out}[{size(expr)}];")

    inputs = {param: f"((float*)((DLTensor*)args[{i}].v_handle)->data)" for i, param in enumerate(function.params)}
    names.update(inputs)
    relay.analysis.post_order_visit(function.body, visit)
    results = list(getattr(function.body, "fields", [function.body]))
    for i, result in enumerate(results, len(inputs)):
        body.append(f"  memcpy(((DLTensor*)args[{i}].v_handle)->data, {names[result]}, {4 * size(result)});")
    head = '#pragma GCC optimize("O3")\n#include <string.h>\n#include <tvm/runtime/c_runtime_api.h>\n'
    head += f'#ifdef __cplusplus\nextern "C"\n#endif\nint {symbol}('
    head += "TVMValue* args, int* codes, int count, void* result, int* result_code, void* resource) {\n"
    source = head + "\n".join(body) + "\n  return 0;\n}\n"
    return tessera.get_global_func("runtime.CSourceModuleCreate")(source, "c", [symbol], [])


def register() -> None:
    """Makes the generator known: what it takes, and who writes the code."""
    if not tessera.ir.Op.get("nn.conv2d").has_attr("target.loops"):
        tessera.ir.register_op_attr("nn.conv2d", "target.loops", is_taken)
    tessera.register_func("relay.ext.loops", generate, override=True)


def partition(mod: Any) -> Any:
    """The module with convolutions in functions for "loops". Weights stay arguments of them."""
    passes = [transform.AnnotateTarget("loops"), transform.MergeCompilerRegions()]
    return tessera.transform.Sequential([*passes, transform.PartitionGraph(bind_constants=False)])(mod)


def run(library: Any, data: np.ndarray) -> np.ndarray:
    """The model's answer."""
    module = graph_executor.GraphModule(library["default"](tessera.cpu()))
    module.set_input("data", data)
    module.run()
    return module.get_output(0).numpy()


def main(image: int = 224) -> None:
    """Compares the answers of both ways."""
    register()
    mod, params = testing.resnet.get_workload(batch_size=1, num_layers=50, image_shape=(3, image, image))
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    data = np.random.default_rng(0).standard_normal((1, 3, image, image)).astype("float32")
    parts = partition(mod)
    taken = sum("Compiler" in (function.attrs or {}) for function in parts.functions.values())
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "resnet50.so")
        relay.build(parts, target="llvm").export_library(path)
        found = run(tessera.runtime.load_module(path), data)
    wanted = run(relay.build(mod, target="llvm"), data)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    print(f"resnet50: {taken} functions as C loops, largest difference {np.abs(found - wanted).max():.1e}")


if __name__ == "__main__":
    main()
