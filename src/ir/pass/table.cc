#include "ir/pass/table.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "ir/pass/names.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

struct Entry {
  Entry(std::string prefix, std::string title_prefix, PassRow row)
      : prefix(std::move(prefix)), title_prefix(std::move(title_prefix)), row(std::move(row)) {}

  /// The title, were the row to state none.
  std::string plain_title() const { return title_prefix + row.name; }
  std::string title() const { return row.facts.title ? row.facts.title : plain_title(); }

  std::string prefix, title_prefix;
  PassRow row;
  mutable std::once_flag once;
  mutable PassInfo info_;  // made when it is first asked for: while the library is loaded, types may not be known yet

  const PassInfo& info() const {
    std::call_once(once, [this] {
      Array<String> required;
      for (const char* name : row.facts.required) required.push_back(name);
      info_ = make_pass_info(row.facts.level, title(), required);
    });
    return info_;
  }
};

struct Registry {
  std::vector<std::unique_ptr<Entry>> entries;  // in the order of the tables
  std::unordered_map<void (*)(), const Entry*> by_function;
  std::unordered_map<std::string, std::string> titles;  // by names that are no titles
};
// Filled while the library is loaded, never destroyed: passes may be made while the process ends.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

const Entry& entry_of(PassKey key) {
  auto found = registry().by_function.find(key.address);
  ICHECK(found != registry().by_function.end()) << "a pass is made from a function that no table of passes names";
  return *found->second;
}

Array<String> names_of(const std::vector<const Property*>& properties) {
  Array<String> out;
  for (const Property* property : properties) out.push_back(property->name);
  return out;
}

/// For Python: name, parameters, what the pass does, its PassInfo, and what holds afterwards.
Array<Array<ObjectRef>> rows_under(const std::string& prefix) {
  Array<Array<ObjectRef>> out;
  for (const auto& entry : registry().entries)
    if (entry->prefix == prefix) {
      const PassRow& row = entry->row;
      out.push_back(
          {String(row.name), String(row.facts.parameters), String(row.does), entry->info(), names_of(row.facts.holds)});
    }
  return out;
}

bool holds(const std::string& name, const IRModule& mod) {
  for (const auto& entry : registry().entries)
    for (const Property* property : entry->row.facts.holds)
      if (property->name == name) return property->holds(mod);
  throw Error(ValueError) << "no pass promises \"" << name << "\"";
}

static Globals table_globals{
    {"transform.PassRows", [](std::string prefix) { return rows_under(prefix); }},
    {"transform.Holds", [](std::string property, IRModule mod) { return holds(property, mod); }},
};

}  // namespace

bool verifies_passes() {
  static const bool on = [] {
    const char* value = std::getenv("TESSERA_VERIFY");
    return value && *value && std::string_view(value) != "0";
  }();
  return on;
}

PassInfo pass_info(PassKey key) { return entry_of(key).info(); }

Pass with_promises(Pass pass, PassKey key) {
  const std::vector<const Property*>& promised = entry_of(key).row.facts.holds;
  if (promised.empty() || !verifies_passes()) return pass;
  pass.edit()->run = [run = pass->run, promised, info = pass->pass_info](IRModule mod, const PassContext& context) {
    IRModule out = run(std::move(mod), context);
    for (const Property* property : promised)
      ICHECK(property->holds(out)) << info->name << " promises \"" << property->name << "\", which does not hold of\n"
                                   << to_text(out);
    return out;
  };
  return pass;
}

PassTable::PassTable(std::string prefix, const char* title_prefix, std::vector<PassRow> rows) {
  for (PassRow& row : rows) {
    auto entry = std::make_unique<Entry>(prefix, title_prefix, std::move(row));
    bool is_new = registry().by_function.emplace(entry->row.key.address, entry.get()).second;
    ICHECK(is_new) << prefix << entry->row.name << ": another row has its function";
    std::string global = prefix + entry->row.name;
    register_global(global, entry->row.constructor(global));
    if (entry->row.facts.title) registry().titles.emplace(entry->plain_title(), entry->title());
    registry().entries.push_back(std::move(entry));
  }
}

std::vector<std::string> pass_names(std::string_view prefix) {
  std::vector<std::string> out;
  for (const auto& entry : registry().entries)
    if (entry->prefix == prefix) out.push_back(entry->row.name);
  std::sort(out.begin(), out.end());
  return out;
}

bool names_pass(std::string_view name, std::string_view title) {
  if (name == title) return true;
  auto found = registry().titles.find(std::string(name));
  return found != registry().titles.end() && found->second == title;
}

bool has_pass(std::string_view prefix, std::string_view name) {
  return std::ranges::any_of(registry().entries, [&](const auto& entry) {
    return entry->prefix == prefix && (entry->row.name == name || entry->title() == name);
  });
}

PackedFunc find_pass_constructor(std::string_view prefix, std::string_view name) {
  return find_global(std::string(prefix) + std::string(name));
}

}  // namespace tessera
