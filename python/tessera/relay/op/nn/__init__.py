"""Neural-network operators."""

from ...expr import Constant as Constant
from .conv import *
from .nn import *
from .norm import *
from .pool import *
from .utils import *
