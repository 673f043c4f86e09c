"""Functions of the core's target room."""

import tessera._ffi

tessera._ffi._init_api("target", __name__)
