"""Neural-network operators."""

from ...expr import Constant as Constant
from .._make import functions_of_records as _functions_of_records
from .conv import *
from .nn import *
from .norm import *
from .pool import *
from .sparse import *
from .utils import *

__getattr__ = _functions_of_records(__name__, "nn.")
