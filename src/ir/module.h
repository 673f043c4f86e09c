#pragma once
// Functions and the module that holds them.

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera {

struct BaseFuncNode : RelayExprNode {
  DictAttrs attrs;
  static constexpr NodeInfo info{"BaseFunc", &RelayExprNode::info};
  static void fields(auto f) { f("attrs", &BaseFuncNode::attrs, Opaque); }
};
using BaseFunc = Ref<BaseFuncNode>;

/// Attribute names shared by all functions.
namespace attr {
inline constexpr const char* kGlobalSymbol = "global_symbol";
inline constexpr const char* kTarget = "target";
inline constexpr const char* kCallingConv = "calling_conv";
}  // namespace attr

enum class CallingConv : int32_t { Default = 0, CPackedFunc = 1, DeviceKernelLaunch = 2 };

/// Functions by global name. Changes on purpose: all holders see `mod["f"] = g`.
struct IRModuleNode : Object {
  Map<GlobalVar, BaseFunc> functions;
  Map<ObjectRef, ObjectRef> type_definitions;
  DictAttrs attrs;
  ObjectRef source_map;
  static constexpr NodeInfo info{"IRModule", &Object::info};
  static void fields(auto f) {
    f("functions", &IRModuleNode::functions);
    f("type_definitions", &IRModuleNode::type_definitions);
    f("attrs", &IRModuleNode::attrs, Opaque);
    f("source_map", &IRModuleNode::source_map, Ignored | Optional | Opaque);
  }
};

class IRModule : public Ref<IRModuleNode> {
 public:
  using Ref::Ref;
  IRModule() : Ref(make(IRModuleNode{})) {}
  IRModule(const Ref<IRModuleNode>& ref) : Ref(ref) {}
  explicit IRModule(Map<GlobalVar, BaseFunc> functions) : IRModule() { edit()->functions = std::move(functions); }

  /// The global of that name; an error listing the names there are, or an empty reference from find_global_var.
  GlobalVar get_global_var(const String& name) const;
  GlobalVar find_global_var(const String& name) const;
  BaseFunc lookup(const String& name) const { return (*this)->functions[get_global_var(name)]; }
  void update(const GlobalVar& var, BaseFunc function) const;  // adds or replaces, in place
  void update(const IRModule& other) const;
  void remove(const GlobalVar& var) const;
  /// A module of its own with the same functions.
  IRModule copy() const;
  /// Functions in the order of their names.
  std::vector<std::pair<GlobalVar, BaseFunc>> sorted_functions() const;
};

/// Names in scope of a module, kept unique by numbering: f, f_1, f_2.
class NameSupply {
 public:
  std::string fresh(const std::string& wanted);
  void reserve(const std::string& name) { counts_[name]; }

 private:
  std::unordered_map<std::string, int> counts_;
};

}  // namespace tessera
