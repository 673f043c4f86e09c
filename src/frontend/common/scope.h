#pragma once
// Names and what they stand for.

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"

namespace tessera::frontend {

/// Names of one graph; those of the graphs around it are seen too. The names belong to the file, which lives longer.
template <class Value>
class Scope {
 public:
  explicit Scope(const Scope* outer) : outer_(outer) {}

  void define(std::string_view name, Value value) { values_.insert_or_assign(name, std::move(value)); }

  const Value* find_or_null(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->outer_)
      if (auto it = scope->values_.find(name); it != scope->values_.end()) return &it->second;
    return nullptr;
  }
  const Value& find(std::string_view name) const {
    if (const Value* out = find_or_null(name)) return *out;
    throw Error(ValueError) << "the graph uses \"" << std::string(name) << "\" before anything makes it";
  }

  /// Calls `visit(value)` for all that is seen, the innermost first.
  template <class F>
  void for_each(const F& visit) const {
    for (const Scope* scope = this; scope; scope = scope->outer_)
      for (const auto& [name, value] : scope->values_) visit(value);
  }

 private:
  const Scope* outer_;
  std::unordered_map<std::string_view, Value> values_;
};

}  // namespace tessera::frontend
