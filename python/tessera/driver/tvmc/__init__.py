"""The driver: `load` a model, `tune` it, `compile` it, `run` it. The command line does the same natively.

model = tvmc.load("resnet50-v2-7.onnx", shape_dict={"data": [1, 3, 224, 224]})
package = tvmc.compile(model, target="llvm")
print(tvmc.run(package, device="cpu"))
"""

from . import autotuner, commands, compiler, frontends, model, result_utils, runner
from .autotuner import tune_model as tune
from .compiler import compile_model as compile
from .exceptions import TVMCException, TVMCImportError
from .frontends import load_model as load
from .model import TVMCModel, TVMCPackage, TVMCResult
from .runner import run_module as run
