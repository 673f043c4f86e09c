"""`import tvm` in processes that were started by one where tessera.as_tvm is in force; see there.

The folder this package lies in is put on PYTHONPATH. Importing the name installs the alias, which puts the real package
in place of this one.
"""

import os
import sys

# The package that this file belongs to, wherever the process was started.
sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..")))
try:
    import tessera.as_tvm
finally:
    del sys.path[0]
