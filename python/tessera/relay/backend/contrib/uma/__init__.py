"""UMA, the Universal Modular Accelerator interface: an accelerator as one class.

A subclass of `UMABackend` names patterns that it takes, passes over graphs and loops, and how C is written; `register()` makes it
known, `partition(mod)` cuts a model, and `relay.build` compiles the pieces.
"""

from .api.utils import uma_available
from .backend import UMABackend

__all__ = ["UMABackend", "uma_available"]
