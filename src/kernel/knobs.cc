#include "kernel/knobs.h"

#include "base/any.h"

namespace tessera::kernel {

bool is_knob(const Field& field) {
  return field.kind == FieldKind::Bool || field.kind == FieldKind::Int32 || field.kind == FieldKind::Int64;
}

int64_t knob_value(const Object* plan, const Field& field) {
  if (field.kind == FieldKind::Bool) return field.at<bool>(plan);
  return field.kind == FieldKind::Int32 ? field.at<int32_t>(plan) : field.at<int64_t>(plan);
}

namespace {

ConfigKeys config_keys{{kKnobs, "Map", [](const ObjectRef& value) -> ObjectRef {
                          auto* rules = value.as<MapNode>();
                          if (!rules) return nullptr;
                          for (const auto& [rule, knobs] : rules->entries)
                            if (!rule.as<StringNode>() || !knobs.as<MapNode>()) return nullptr;
                          return value;
                        }}};

}  // namespace

ObjectRef moved(const ObjectRef& knobs, const char* rule, const PassContext& passes) {
  if (!knobs || !passes) return knobs;
  ObjectRef by_rule = passes->config.get_or_null(kKnobs);
  ObjectRef values = by_rule ? downcast<Map<String, ObjectRef>>(by_rule).get_or_null(rule) : nullptr;
  return values ? with_knobs(knobs, rule, downcast<Map<String, ObjectRef>>(values)) : knobs;
}

ObjectRef with_knobs(const ObjectRef& knobs, const char* rule, const Map<String, ObjectRef>& values) {
  const TypeInfo& type = *knobs->type();
  ObjectRef out(type.copy(knobs.get()));
  for (const auto& [knob, value] : values->entries) {
    const Field* field = knob.as<StringNode>() ? type.find(knob.as<StringNode>()->text) : nullptr;
    if (!field || !is_knob(*field))
      throw Error(AttributeError) << "the schedule rule " << rule << " has no knob " << to_text(knob) << "; it has "
                                  << knobs_text(knobs);
    set_field(out.edit(), *field, Any::of_object(value.get()));
  }
  return out;
}

std::string knobs_text(const ObjectRef& knobs) {
  std::string out;
  if (!knobs) return out;
  for (const Field& field : knobs->type()->fields())
    if (is_knob(field))
      out += (out.empty() ? "" : ", ") + std::string(field.name) + "=" + std::to_string(knob_value(knobs.get(), field));
  return out;
}

}  // namespace tessera::kernel
