"""Exceptions of the core, by the kind of the error."""

from ._ffi.base import ERROR_TYPE, TVMError, register_error

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


def _register_remote_errors() -> None:
    """Errors of a server keep their class: a ValueError over there is caught as ValueError and as RPCError here."""
    for kind, known in list(ERROR_TYPE.items()):
        if not issubclass(known, RPCError):
            bases = (RPCError, known) if known is not TVMError else (RPCError,)
            doc = f"A {kind} that a server raised."
            register_error(f"RPCError.{kind}", type(kind, bases, {"__doc__": doc, "__module__": known.__module__}))


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


_register_remote_errors()
