#pragma once
// The registry of functions by name, shared by every language.

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/packed_func.h"

namespace tessera {

/// Makes `function` callable by name. A name already taken is an error unless `override` is set.
void register_global(const std::string& name, PackedFunc function, bool override = false);
/// The function under `name`, or an empty reference.
PackedFunc find_global(std::string_view name);
/// The same, where absence is an error that names the closest names there are.
PackedFunc get_global(std::string_view name);
bool remove_global(std::string_view name);
std::vector<std::string> global_names();

/// For use at namespace scope, named after its file: `static Globals file_globals{{"room.name", function}, ...};`
struct Globals {
  struct Entry {
    PackedFunc function;
    std::string name;
    template <class F>
    Entry(std::string name, F function) : function(typed(name, std::move(function))), name(std::move(name)) {}
  };
  Globals(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) register_global(entry.name, entry.function);
  }
};

}  // namespace tessera
