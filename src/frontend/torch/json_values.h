#pragma once
// Questions about parsed JSON whose answer must be there.

#include <string>
#include <vector>

#include "base/json.h"

namespace tessera::torch {

[[noreturn]] void bad_graph(const std::string& what);
/// The entry of an object; null where it is not there or null.
ObjectRef find_entry(const ObjectRef& from, const char* key);
/// An error where it is not there.
ObjectRef needed_entry(const ObjectRef& from, const char* key);
std::string text_in(const ObjectRef& value, const char* what);
std::string text_entry(const ObjectRef& from, const char* key, bool needed = true);
/// No list is an empty one.
const std::vector<ObjectRef>& list_in(const ObjectRef& value, const char* what);
int64_t integer_in(const ObjectRef& value, const char* what);

}  // namespace tessera::torch
