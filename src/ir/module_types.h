#pragma once
// The data types of a module, by name.

#include "ir/adt.h"
#include "ir/module.h"

namespace tessera {

/// The data type of that name; an error listing the names there are, or an empty reference from find_type_var.
GlobalTypeVar get_type_var(const IRModule& mod, const String& name);
GlobalTypeVar find_type_var(const IRModule& mod, const String& name);
/// The definition of a data type; an error, or an empty reference from find_type, when the module has none.
TypeData lookup_type(const IRModule& mod, const GlobalTypeVar& var);
TypeData find_type(const IRModule& mod, const GlobalTypeVar& var);
/// Adds or replaces a data type, in place, and gives its constructors their tags.
void update_type(const IRModule& mod, const GlobalTypeVar& var, const TypeData& data);
/// The constructor with that tag; an error when there is none.
Constructor constructor_with_tag(const IRModule& mod, int32_t tag);
/// Data types in the order of their names.
std::vector<TypeData> sorted_types(const IRModule& mod);
/// Takes over the functions and data types of another module.
void update_all(const IRModule& mod, const IRModule& other);

}  // namespace tessera
