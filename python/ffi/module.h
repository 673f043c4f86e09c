#pragma once
// Functions of the Python package that the extension calls; the package hands them in when it is imported.

#include "python/ffi/handles.h"

namespace tessera::python {

extern nb::object* make_error_function;  // (kind, message, backtrace) -> exception
extern nb::object* text_class;           // runtime.String
extern nb::object* device_class;         // runtime.Device
extern nb::object* void_pointer_class;   // ctypes.c_void_p
extern nb::object* extension_makers;     // code -> function(handle) of register_extension

}  // namespace tessera::python
