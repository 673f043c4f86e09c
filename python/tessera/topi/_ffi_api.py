"""Functions of the core's topi room."""

import tessera._ffi

tessera._ffi._init_api("topi", __name__)
