"""Passes over Relay programs."""

import typing as _typing

from .capture_indices import *
from .collage import *
from .compiler_functions import *
from .flexible_shape import *
from .language import *
from .recast import recast as recast
from .to_sparse import *
from .transform import *

if _typing.TYPE_CHECKING:  # most names are made from the core's table

    def __getattr__(name: str) -> _typing.Any: ...
