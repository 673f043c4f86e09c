"""Exceptions of the core, by the kind of the error."""

from ._ffi.base import TVMError, register_error

__all__ = [
    "DiagnosticError",
    "InternalError",
    "OpAttributeInvalid",
    "OpAttributeRequired",
    "OpAttributeUnImplemented",
    "OpError",
    "OpNotImplemented",
    "RPCError",
    "RPCSessionTimeoutError",
    "TVMError",
    "register_error",
]


@register_error
class InternalError(TVMError):
    """A promise of the core itself was broken; please report it."""


@register_error
class RPCError(TVMError):
    """The other side of a remote session failed."""


@register_error
class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A remote session took longer than it may."""


@register_error
class OpError(TVMError):
    """An operator of a model cannot be taken."""


@register_error
class OpNotImplemented(OpError, NotImplementedError):
    """An operator is not known."""


@register_error
class OpAttributeRequired(OpError, AttributeError):
    """An operator lacks an attribute."""


@register_error
class OpAttributeInvalid(OpError, AttributeError):
    """An attribute of an operator has a value that cannot be."""


@register_error
class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An attribute of an operator is known, but not this value of it."""


@register_error
class DiagnosticError(TVMError):
    """A program was rejected; what is wrong was printed."""
