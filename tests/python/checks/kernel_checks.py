"""What kernels a function becomes, and what they answer."""

import numpy as np
import tessera
from tessera import relay


def rules(function, target="llvm"):
    """The schedule rules of each kernel after all passes, in order; views are no kernels, and equal kernels are one."""
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(tessera.IRModule.from_expr(function), target)
    programs = [program for info in library.function_metadata.values() for program in info.tir_primfuncs.values()]
    return [str(program.attrs["tessera.schedule_rule"]) for program in programs]


def run(function, values, target="llvm", **context) -> np.ndarray:
    """The first output."""
    with tessera.transform.PassContext(opt_level=3, **context):
        library = relay.build(tessera.IRModule.from_expr(function), target)
    module = tessera.contrib.graph_executor.GraphModule(library["default"](tessera.cpu()))
    for i, value in enumerate(values):
        module.set_input(i, value)
    module.run()
    return module.get_output(0).numpy()
