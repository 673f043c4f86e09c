#include "base/custom_type.h"

#include <map>
#include <mutex>

#include "base/dtype.h"
#include "base/error.h"

namespace tessera {
namespace {

struct Types {
  std::mutex mutex;
  std::map<std::string, int, std::less<>> codes;
  std::map<int, std::string> names;
};

Types& types() {
  static auto* all = new Types;  // asked while other statics are torn down
  return *all;
}

}  // namespace

void register_custom_type(std::string_view name, int code) {
  if (code < DataType::kCustom || code > 255)
    throw Error(ValueError) << "custom type " << name << " cannot have the code " << code << "; codes from "
                            << int{DataType::kCustom} << " to 255 are free for custom types";
  if (name.empty() || name.find(']') != std::string_view::npos)
    throw Error(ValueError) << "\"" << name << "\" cannot name a custom type";
  Types& all = types();
  std::lock_guard lock(all.mutex);
  auto by_name = all.codes.find(name);
  auto by_code = all.names.find(code);
  if (by_name != all.codes.end() && by_name->second != code)
    throw Error(ValueError) << "custom type " << name << " has the code " << by_name->second << " already";
  if (by_code != all.names.end() && by_code->second != name)
    throw Error(ValueError) << "the code " << code << " belongs to custom type " << by_code->second << " already";
  all.codes.emplace(name, code);
  all.names.emplace(code, name);
}

bool is_registered_type(int code) {
  if (code < DataType::kCustom) return false;
  std::lock_guard lock(types().mutex);
  return types().names.count(code) > 0;
}

int custom_type_code(std::string_view name) {
  std::lock_guard lock(types().mutex);
  auto it = types().codes.find(name);
  if (it == types().codes.end())
    throw Error(ValueError) << "no custom type is named " << name << "; see target.datatype.register";
  return it->second;
}

std::string custom_type_name(int code) {
  std::lock_guard lock(types().mutex);
  auto it = types().names.find(code);
  if (it == types().names.end())
    throw Error(ValueError) << "no custom type has the code " << code << "; see target.datatype.register";
  return it->second;
}

}  // namespace tessera
