#pragma once
// What code is generated for: a kind ("llvm", "cuda", ...) with its options, and the host beside it.

#include <optional>

#include "base/any.h"

namespace tessera {

/// The type of an option's value.
enum class OptionType : int32_t { Bool, Int, Text, TextList, IntList, TargetList };

struct TargetKindNode : Object {
  String name;
  int32_t default_device_type = 1;
  Array<String> default_keys;
  std::vector<std::pair<std::string, OptionType>> options;  // beyond those every kind has
  std::vector<std::pair<std::string, Any>> defaults;        // options that are filled in when not given
  static constexpr NodeInfo info{"TargetKind", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("name", &TargetKindNode::name);
    f("device_type", &TargetKindNode::default_device_type);
    f("default_keys", &TargetKindNode::default_keys);
  }
};
using TargetKind = Ref<TargetKindNode>;

/// The kind of that name, or an empty reference. `target_kinds` lists all.
TargetKind find_target_kind(std::string_view name);
std::vector<TargetKind> target_kinds();

struct TargetNode : Object {
  TargetKind kind;
  ObjectRef host;  // a Target, or empty
  String tag;
  Array<String> keys;
  Map<String, ObjectRef> attrs;     // options, without keys, tag and host
  Map<String, ObjectRef> features;  // facts derived from the options (has_dsp, ...)
  static constexpr NodeInfo info{"Target", &Object::info};
  static void fields(auto f) {
    f("kind", &TargetNode::kind);
    f("host", &TargetNode::host, Optional);
    f("tag", &TargetNode::tag);
    f("keys", &TargetNode::keys);
    f("attrs", &TargetNode::attrs);
    f("features", &TargetNode::features, Ignored);
  }
};

class Target : public Ref<TargetNode> {
 public:
  using Ref::Ref;
  Target(const Ref<TargetNode>& ref) : Ref(ref) {}
  /// Reads "llvm -mcpu=skylake", a tag, or a JSON object. An error names the option, the kind and what exists.
  static Target parse(std::string_view text);
  static Target from_config(const Map<String, ObjectRef>& config);

  /// "llvm -keys=cpu -mcpu=skylake": options sorted by name, the host not shown.
  std::string str() const;
  Map<String, ObjectRef> export_config() const;
  Target host() const { return downcast<Target>(checked()->host); }
  Target with_host(const Target& host) const;
  Target without_host() const;

  std::optional<std::string> option(const String& name) const;
  int64_t int_option(const String& name, int64_t otherwise) const;
  std::vector<std::string> list_option(const String& name) const;
  bool has_key(std::string_view key) const;

  /// The target of the innermost `with target:` of this thread, or an empty reference.
  static Target current();
  static void enter(const Target& target);
  static void exit();
};

template <>
struct Convert<Target> {
  static Any pack(const Target& value) { return Any::of_object(value.get()); }
  /// A Target, its text, or its config dictionary.
  static Target unpack(const AnyView& view);
  static std::string name() { return "Target"; }
};

inline std::string to_text(const Target& target) { return target ? target.str() : "no target"; }

}  // namespace tessera
