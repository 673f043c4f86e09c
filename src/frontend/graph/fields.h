#pragma once
// Named values of a file or of a caller: what JSON has, and numbers and lists that are written as text ("(2, 2)", "True").

#include <string>
#include <vector>

#include "base/any.h"
#include "frontend/common/ints.h"

namespace tessera::frontend {

/// Asking for a field that is not there gives what the caller expects then; one of another type is an error that names it.
class Fields {
 public:
  Fields() = default;
  /// `value` must be a map, or nothing.
  explicit Fields(const ObjectRef& value, std::string owner = "");

  bool has(std::string_view name) const;  // null and "None" count as not there
  ObjectRef get(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  int64_t integer(std::string_view name) const;  // an error when it is missing
  bool flag(std::string_view name, bool otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise = "") const;
  /// One number counts as a list.
  Ints integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> numbers(std::string_view name, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  Fields object(std::string_view name) const;
  std::vector<ObjectRef> list(std::string_view name) const;

  const Map<String, ObjectRef>& map() const { return map_; }
  const std::string& owner() const { return owner_; }
  void set(std::string_view name, ObjectRef value) { map_.set(String(std::string(name)), std::move(value)); }

 private:
  [[noreturn]] void wrong(std::string_view name, const char* wanted) const;
  Map<String, ObjectRef> map_;
  std::string owner_;
};

/// One value of such a file; the error names `what`.
int64_t integer_of(const ObjectRef& value, const std::string& what);
double number_of(const ObjectRef& value, const std::string& what);
std::string text_of(const ObjectRef& value, const std::string& what);
std::vector<ObjectRef> list_of(const ObjectRef& value, const std::string& what);

}  // namespace tessera::frontend
