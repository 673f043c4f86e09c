"""What goes wrong in the driver, and turning the core's errors into it."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Iterator

from ..._ffi.base import TVMError

__all__ = ["TVMCException", "TVMCImportError", "from_core"]


class TVMCException(Exception):
    """A model, an option or a combination of them that the driver cannot take."""


class TVMCImportError(TVMCException):
    """A model's format needs something that is not here."""


@contextlib.contextmanager
def from_core() -> Iterator[None]:
    """Wrong values, damaged files and what is not there come out as TVMCException.

    A missing file, an operator that is not known or a text that is no program stay what they are: they say more by
    their class.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except ImportError as error:
        raise TVMCImportError(str(error)) from error
    except (ValueError, TypeError, AttributeError, OSError, NotImplementedError) as error:
        if isinstance(error, TVMError) and not hasattr(builtins, type(error).__name__):
            raise  # of a class of its own
        raise TVMCException(str(error)) from error
