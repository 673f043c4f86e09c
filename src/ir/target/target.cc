#include "ir/target/target.h"

#include <algorithm>

#include "base/json.h"
#include "ir/expr.h"
#include "ir/target/options.h"
#include "ir/target/tags.h"
#include "runtime/device_api.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using Config = Map<String, ObjectRef>;

template <class T>
T expect(const Config& config, const char* name) {
  ObjectRef value = config.get_or_null(name);
  if (!value) return T(nullptr);
  if (!T::accepts(value.get()))
    throw Error(ValueError) << "target: \"" << name << "\" is expected to be " << T::expects() << ", not "
                            << value->type_key();
  return T(static_cast<const typename T::Node*>(value.get()));
}

void check_value(const TargetKind& kind, const std::string& name, OptionType type, const ObjectRef& value) {
  bool fits = false;
  switch (type) {
    case OptionType::Text: fits = String::accepts(value.get()); break;
    case OptionType::Bool:
    case OptionType::Int: fits = value.as<IntImm>(); break;
    default: fits = value.as<ArrayNode>(); break;
  }
  if (!fits)
    throw Error(ValueError) << "target " << kind->name << ": option \"" << name << "\" cannot be " << value << " ("
                            << (value ? value->type_key() : "None") << ")";
}

Target to_target(const ObjectRef& value) { return Any::of_object(value.get()).to<Target>(); }

/// Arm Cortex-M CPUs bring keys and features of their own.
struct CortexM {
  bool matches = false, dsp = false, mve = false;
};

CortexM cortex_m(const Config& attrs) {
  auto mcpu = expect<String>(attrs, "mcpu");
  if (!mcpu) return {};
  std::string_view name = mcpu;
  std::string_view base = name.substr(0, name.find('+'));
  CortexM out;
  out.mve = base == "cortex-m55";
  out.dsp = out.mve || base == "cortex-m4" || base == "cortex-m7" || base == "cortex-m33" || base == "cortex-m35p";
  out.matches = out.dsp;
  if (name.find("+nomve") != name.npos) out.mve = false;
  if (name.find("+nodsp") != name.npos) out.dsp = out.mve = false;
  return out;
}

/// "sm_80" of the CUDA device of this machine, "sm_90a" with all that Hopper alone has; without one, the least that current
/// device compilers accept.
String cuda_arch() {
  DLDevice device = make_device(kDLCUDA, 0);
  DeviceAPI* api = find_device_api(kDLCUDA);
  if (!api || api->get_attr(device, DeviceAttr::Exist).to<int>() == 0) return "sm_75";
  auto version = api->get_attr(device, DeviceAttr::ComputeVersion).to<std::string>();
  std::erase(version, '.');
  return "sm_" + version + (version == "90" ? "a" : "");
}

/// Options that a kind fills in when the user does not give them.
void fill_defaults(const TargetKind& kind, Config* attrs) {
  auto fill = [&](const std::string& name, ObjectRef value) {
    if (!attrs->count(name)) attrs->set(name, std::move(value));
  };
  for (const auto& [name, value] : kind->defaults) fill(name, box(value));
  if (kind->name == "cuda" && !attrs->count("arch")) fill("arch", cuda_arch());
  if (kind->name == "nvptx" && !attrs->count("mcpu")) fill("mcpu", cuda_arch());
  if (kind->name == "rocm") fill("mcpu", String("gfx900"));
}

std::string value_text(const ObjectRef& value) {
  if (auto* list = value.as<ArrayNode>()) {
    std::string out;
    for (const ObjectRef& item : list->items) out += (out.empty() ? "" : ",") + value_text(item);
    return out;
  }
  if (auto* text = value.as<StringNode>()) return text->text;
  if (auto* number = value.as<IntImm>()) return std::to_string(number->value);
  if (auto target = downcast_or_null<Target>(value)) return target.str();
  throw Error(RuntimeError) << "a target option holds " << value->type_key() << ", which has no text form";
}

thread_local std::vector<Target> current_targets;

}  // namespace

Target Target::from_config(const Config& config) {
  auto name = expect<String>(config, "kind");
  if (!name) throw Error(ValueError) << "target: \"kind\" is missing; the configuration has " << config;
  TargetKind kind = find_target_kind(name);
  if (!kind) throw Error(ValueError) << "target kind \"" << name << "\" is not defined";

  TargetNode node;
  node.kind = kind;
  node.tag = config.count("tag") ? expect<String>(config, "tag") : String("");
  if (ObjectRef host = config.get_or_null("host")) node.host = to_target(host);
  for (const auto& [key, value] : config) {
    if (key == "kind" || key == "tag" || key == "keys" || key == "host") continue;
    OptionType type = target_option_type(kind, key.str());
    check_value(kind, key.str(), type, value);
    if (type == OptionType::TargetList) {
      Array<ObjectRef> targets;
      for (const ObjectRef& item : Array<ObjectRef>(value.as<ArrayNode>())) targets.push_back(to_target(item));
      node.attrs.set(key, targets);
    } else {
      node.attrs.set(key, value);
    }
  }
  fill_defaults(kind, &node.attrs);

  std::vector<String> keys;
  auto add_key = [&](const String& key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  if (config.count("keys"))
    for (const String& key : expect<Array<String>>(config, "keys")) add_key(key);
  CortexM m = kind->name == "c" || kind->name == "llvm" || kind->name == "cmsis-nn" ? cortex_m(node.attrs) : CortexM{};
  if (m.matches) {
    for (const char* key : {"arm_cpu", "cpu"}) add_key(key);
    node.features.set("has_dsp", bool_imm(m.dsp));
    node.features.set("has_mve", bool_imm(m.mve));
  }
  if (auto device = expect<String>(node.attrs, "device")) add_key(device);
  for (const String& key : kind->default_keys) add_key(key);
  node.keys = Array<String>(keys);
  return make(std::move(node));
}

std::string Target::str() const {
  std::string out = checked()->kind->name.str();
  for (size_t i = 0; i < checked()->keys.size(); ++i) out += (i ? "," : " -keys=") + checked()->keys[i].str();
  std::vector<std::string> options;
  for (const auto& [name, value] : checked()->attrs) options.push_back("-" + name.str() + "=" + value_text(value));
  std::sort(options.begin(), options.end());
  for (const std::string& option : options) out += " " + option;
  return options.empty() ? out + " " : out;
}

Map<String, ObjectRef> Target::export_config() const {
  Config out{{"kind", checked()->kind->name}, {"tag", checked()->tag}, {"keys", checked()->keys}};
  for (const auto& [name, value] : checked()->attrs) out.set(name, value);
  if (checked()->host) out.set("host", host().export_config());
  return out;
}

Target Target::with_host(const Target& host) const { return with(node_, &TargetNode::host, ObjectRef(host)); }
Target Target::without_host() const { return with(node_, &TargetNode::host, ObjectRef()); }

std::optional<std::string> Target::option(const String& name) const {
  auto value = checked()->attrs.get_or_null(name);
  if (!value) return std::nullopt;
  return value_text(value);
}

int64_t Target::int_option(const String& name, int64_t otherwise) const {
  auto value = checked()->attrs.get_or_null(name);
  auto* number = value.as<IntImm>();
  return number ? number->value : otherwise;
}

std::vector<std::string> Target::list_option(const String& name) const {
  std::vector<std::string> out;
  auto value = checked()->attrs.get_or_null(name);
  if (auto* list = value.as<ArrayNode>())
    for (const ObjectRef& item : list->items) out.push_back(value_text(item));
  return out;
}

bool Target::has_key(std::string_view key) const {
  for (const String& k : checked()->keys)
    if (std::string_view(k) == key) return true;
  return false;
}

Target Target::current() { return current_targets.empty() ? Target(nullptr) : current_targets.back(); }
void Target::enter(const Target& target) { current_targets.push_back(target); }
void Target::exit() {
  ICHECK(!current_targets.empty()) << "a target scope is left that was not entered";
  current_targets.pop_back();
}

Target Convert<Target>::unpack(const AnyView& view) {
  if (view.is_null()) return nullptr;
  const Object* object = view.object();
  if (auto* target = cast_or_null<TargetNode>(object)) return Target(target);
  if (auto* config = cast_or_null<MapNode>(object)) return Target::from_config(Config(config));
  if (view.code() == kTesseraStr || cast_or_null<StringNode>(object)) return Target::parse(view.to<std::string>());
  throw_conversion(view, "Target, target string or dictionary");
}

namespace {

register_types<TargetKindNode, TargetNode> target_types;

Map<String, ObjectRef> option_types(const TargetKind& kind) {
  Map<String, ObjectRef> out;
  for (const auto& [name, type] : target_options(kind)) {
    const char* text = "Array";
    if (type == OptionType::Text) text = "runtime.String";
    if (type == OptionType::Bool || type == OptionType::Int) text = "IntImm";
    out.set(name, String(name == "host" ? "Target" : text));
  }
  return out;
}

Target current_or_error(bool allow_none) {
  Target target = Target::current();
  if (!target && !allow_none)
    throw Error(RuntimeError) << "a target is needed here: write `with tvm.target.Target(\"llvm\"):` around this code";
  return target;
}

Array<String> as_strings(const std::vector<std::string>& names) { return Array<String>(names.begin(), names.end()); }

Array<String> kind_names() {
  Array<String> names;
  for (const TargetKind& kind : target_kinds()) names.push_back(kind->name);
  return names;
}

Globals target_globals{
    {"target.Target", [](Target target) { return target; }},
    {"target.TargetStr", [](Target target) { return target.str(); }},
    {"target.TargetExport", [](Target target) { return target.export_config(); }},
    {"target.WithHost", [](Target target, Target host) { return target.with_host(host); }},
    {"target.WithoutHost", [](Target target) { return target.without_host(); }},
    {"target.TargetCurrent", current_or_error},
    {"target.TargetEnterScope", Target::enter},
    {"target.TargetExitScope", [](Target) { Target::exit(); }},
    {"target.TargetGetFeature", [](Target target, String name) { return target->features.get_or_null(name); }},
    {"target.ListTargetKinds", kind_names},
    {"target.ListTargetKindOptions", option_types},
    {"target.ListTargetKindOptionsFromName", [](String name) { return option_types(Target::parse(name)->kind); }},
    {"target.TargetTagListTags",
     [] {
       Map<String, Target> out;
       for (const std::string& name : target_tags()) out.set(name, Target::parse(name));
       return out;
     }},
    {"target.TargetTagNames", [] { return as_strings(target_tags()); }},
    {"target.TargetTagAddTag",
     [](String name, Map<String, ObjectRef> config, bool override) {
       register_target_tag(name, config, override);
       return Target::parse(name);
     }},
};

}  // namespace
}  // namespace tessera
