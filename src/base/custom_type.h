#pragma once
// Element types that users name: after `register_custom_type("posit", 131)`, the text "custom[posit]16" is a type of code
// 131 and 16 bits. What its values mean is said by lowering functions (tir/transform/function/lower_custom_datatypes.cc).

#include <string>
#include <string_view>

namespace tessera {

/// Gives a code of 129 or more a name. Registering the same pair again is fine; a code or a name is never given twice.
void register_custom_type(std::string_view name, int code);
bool is_registered_type(int code);
/// The code of a name, the name of a code; both throw where nothing was registered.
int custom_type_code(std::string_view name);
std::string custom_type_name(int code);

}  // namespace tessera
