"""Programs with an interface of inputs and outputs."""

from .aot_executor import AotModule
