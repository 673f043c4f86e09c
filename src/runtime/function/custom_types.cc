// The names of custom element types, for other languages.

#include "base/custom_type.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

static Globals custom_types_globals{
    {"runtime._datatype_register", [](int code, String name) { register_custom_type(name.str(), code); }},
    {"runtime._datatype_get_type_code", [](String name) { return custom_type_code(name.str()); }},
    {"runtime._datatype_get_type_name", [](int code) { return String(custom_type_name(code)); }},
    {"runtime._datatype_get_type_registered", [](int code) { return is_registered_type(code); }},
};

}  // namespace
}  // namespace tessera
