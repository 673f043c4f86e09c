#include "driver/executor/options.h"

#include <optional>

#include "ir/prim/ops.h"
#include "ir/repr.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

register_types<ExecutorNode, RuntimeNode> options_types;

struct Option {
  const char* name;
  const char* type;                   // the type key of its values
  std::optional<bool> default_ = {};  // numbers and strings have none
};
struct Kind {
  const char* name;
  std::vector<Option> options;
};

constexpr const char* kNumber = "IntImm";
constexpr const char* kText = "runtime.String";

const std::vector<Kind>& executors() {
  static const std::vector<Kind> kinds{
      {"graph", {{"link-params", kNumber, false}}},
      {"aot",
       {{"link-params", kNumber, true},
        {"unpacked-api", kNumber},
        {"interface-api", kText},
        {"workspace-byte-alignment", kNumber},
        {"constant-byte-alignment", kNumber}}},
  };
  return kinds;
}

const std::vector<Kind>& runtimes() {
  static const std::vector<Kind> kinds{{"cpp", {{"system-lib", kNumber}}}, {"crt", {{"system-lib", kNumber}}}};
  return kinds;
}

const Kind& find(const std::vector<Kind>& kinds, const std::string& name, const char* what) {
  for (const Kind& kind : kinds)
    if (name == kind.name) return kind;
  Error error(RuntimeError);
  error << what << " \"" << name << "\" is not defined; there are";
  for (const Kind& kind : kinds) error << " " << kind.name;
  throw error;
}

/// The options given, checked, and the defaults of the others.
DictAttrs checked(const Kind& kind, const Map<String, ObjectRef>& given, const char* what) {
  Map<String, ObjectRef> out;
  for (const auto& [name, value] : given) {
    auto is_it = [&](const Option& option) { return name == option.name; };
    auto found = std::find_if(kind.options.begin(), kind.options.end(), is_it);
    if (found == kind.options.end()) {
      Error error(RuntimeError);
      error << "Attribute \"" << name << "\" is not available on this " << what << "; " << kind.name << " has";
      for (const Option& option : kind.options) error << " " << option.name;
      throw error;
    }
    if (!value || std::string_view(value->type_key()) != found->type)
      throw Error(RuntimeError) << "Attribute \"" << name << "\" should have type \"" << found->type
                                << "\" but instead found \"" << (value ? value->type_key() : "None") << "\"";
    out.set(name, value);
  }
  for (const Option& option : kind.options)
    if (option.default_ && !out.count(option.name)) out.set(option.name, bool_imm(*option.default_));
  return DictAttrs(out);
}

template <class Node>
Ref<Node> create(const std::vector<Kind>& kinds, const std::string& name, const Map<String, ObjectRef>& options) {
  Node out;
  out.name = String(name);
  out.attrs = checked(find(kinds, name, Node::info.key), options, Node::info.key);
  return make(std::move(out));
}

Array<String> names(const std::vector<Kind>& kinds) {
  Array<String> out;
  for (const Kind& kind : kinds) out.push_back(kind.name);
  return out;
}

Map<String, String> options(const Kind& kind) {
  Map<String, String> out;
  for (const Option& option : kind.options) out.set(option.name, option.type);
  return out;
}

ReprRows rows{[](ReprPrinter& p, const ExecutorNode* node) { p << node->name.str() << node->attrs; },
              [](ReprPrinter& p, const RuntimeNode* node) { p << node->name.str(); }};

Globals options_globals{
    {"relay.backend.CreateExecutor",
     [](std::string name, Map<String, ObjectRef> given) { return create<ExecutorNode>(executors(), name, given); }},
    {"relay.backend.ListExecutors", [] { return names(executors()); }},
    {"relay.backend.ListExecutorOptions",
     [](std::string name) { return options(find(executors(), name, "Executor")); }},
    {"relay.backend.CreateRuntime",
     [](std::string name, Map<String, ObjectRef> given) { return create<RuntimeNode>(runtimes(), name, given); }},
    {"relay.backend.ListRuntimes", [] { return names(runtimes()); }},
    {"relay.backend.ListRuntimeOptions", [](std::string name) { return options(find(runtimes(), name, "Runtime")); }},
};

}  // namespace
}  // namespace tessera::relay
