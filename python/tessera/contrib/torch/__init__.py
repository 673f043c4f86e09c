"""Compiled programs as modules of PyTorch, and modules of PyTorch as compiled programs; `tessera.torch` is for `torch.compile`."""

from .as_torch import OperatorModuleWrapper, as_torch
from .module import GraphModule, TraceTvmModule, VMModule
from .optimize_torch import GraphExecutorFactoryWrapper, optimize_torch
from .pytorch_tvm import PyTorchTVMModule, compile
