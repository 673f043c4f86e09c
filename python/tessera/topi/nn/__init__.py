"""Operators of neural networks as tensor expressions."""

from .bitserial import *
from .conv import *
from .conv_gradients import *
from .conv_int8 import *
from .conv_layouts import *
from .dense import *
from .elementwise import *
from .legalize import *
from .lstm import *
from .pool import *
from .qnn import *
from .space import *
from .sparse import *
from .utils import *
from .winograd import *
