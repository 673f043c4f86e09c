#include "ir/module.h"

#include <algorithm>

namespace tessera {

GlobalVar IRModule::find_global_var(const String& name) const {
  for (const auto& [var, _] : checked()->functions)
    if (var->name_hint == name) return var;
  return nullptr;
}

GlobalVar IRModule::get_global_var(const String& name) const {
  if (GlobalVar found = find_global_var(name)) return found;
  std::string names;
  for (const auto& [var, _] : sorted_functions()) names += (names.empty() ? "" : ", ") + var->name_hint.str();
  throw Error(ValueError) << "no function \"" << name << "\" in the module; it has "
                          << (names.empty() ? "none" : names);
}

void IRModule::update(const GlobalVar& var, BaseFunc function) const {
  GlobalVar known = find_global_var(var->name_hint);
  IRModuleNode* node = edit();
  if (known && !known.same_as(var)) node->functions.erase(known);
  node->functions.set(var, std::move(function));
}

void IRModule::update(const IRModule& other) const {
  for (const auto& [var, function] : other->functions) {
    GlobalVar known = find_global_var(var->name_hint);
    update(known ? known : var, function);
  }
}

void IRModule::remove(const GlobalVar& var) const { edit()->functions.erase(var); }

IRModule IRModule::copy() const { return IRModule(make(IRModuleNode(*node_))); }

std::vector<std::pair<GlobalVar, BaseFunc>> IRModule::sorted_functions() const {
  std::vector<std::pair<GlobalVar, BaseFunc>> out;
  for (const auto& entry : checked()->functions) out.push_back(entry);
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.first->name_hint < b.first->name_hint; });
  return out;
}

std::string NameSupply::fresh(const std::string& wanted) {
  auto [it, added] = counts_.try_emplace(wanted, 0);
  if (added) return wanted;
  std::string name;
  do {
    name = wanted + "_" + std::to_string(++it->second);
  } while (counts_.count(name));
  counts_[name];
  return name;
}

}  // namespace tessera
