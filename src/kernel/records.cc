#include "kernel/records.h"

#include <fmt/format.h>

#include "ir/json/json.h"
#include "kernel/knobs.h"
#include "kernel/record_lines.h"
#include "kernel/schedule_rule.h"
#include "kernel/shipped_records.h"
#include "runtime/rpc/sha256.h"

namespace tessera::kernel {
namespace {

constexpr int64_t kMaxKnob = int64_t{1} << 24;
constexpr size_t kMaxPlans = 64;  // of a kernel

const ScheduleRule* rule_named(std::string_view name) {
  for (const ScheduleRule& rule : schedule_rules())
    if (rule.name == name) return &rule;
  return nullptr;
}

/// The least value of a knob is that of a plan that nobody has chosen: 1 of sizes, 0 of choices and of what may be left out.
int64_t least_value(const TypeInfo& plan, const Field& field) {
  ObjectRef fresh(plan.create());
  return std::min<int64_t>(1, field.kind == FieldKind::Int32   ? field.at<int32_t>(fresh.get())
                              : field.kind == FieldKind::Int64 ? field.at<int64_t>(fresh.get())
                                                               : 0);
}

void check_knob(const ScheduleRule& rule, const String& name, const ObjectRef& given) {
  const Field* field = rule.knobs->find(name.str());
  if (!field || !is_knob(*field))
    throw Error(ValueError) << "the schedule rule " << rule.name << " has no knob \"" << name << "\"; it has "
                            << knobs_text(ObjectRef(rule.knobs->create()));
  int64_t value = 0;
  const int64_t least = least_value(*rule.knobs, *field);
  const int64_t most = field->kind == FieldKind::Bool ? 1 : kMaxKnob;
  if (!given || !number_boxes.unbox_int(given.get(), &value) || value < least || value > most)
    throw Error(ValueError) << "the knob " << name << " of the schedule rule " << rule.name
                            << " is a whole number from " << least << " to " << most << ", not " << to_text(given);
}

/// A file's name, or the plans themselves, by workload.
ObjectRef plans_of_option(const ObjectRef& value) {
  if (auto* path = value.as<StringNode>()) return plans_of_file(path->text);
  auto* by_workload = value.as<MapNode>();
  if (!by_workload) return nullptr;
  for (const auto& [workload, plans] : by_workload->entries) {
    if (!workload.as<StringNode>() || !plans.as<ArrayNode>()) return nullptr;
    check_plans(downcast<RecordedPlans>(plans));
  }
  return value;
}

std::string hash_of(const std::string& text) {
  const rpc::Digest digest = rpc::sha256(text);
  std::string out;
  for (size_t i = 0; i < digest.size() / 2; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

ConfigKeys record_keys{{kRecords, "Map", plans_of_option}, config_flag(kShippedRecords)};

}  // namespace

std::string machine_key(const topi::Machine& machine) {
  return fmt::format("{} {} {}", machine->cpu.str(), machine->isa.str(), machine->cores);
}

std::string workload_key(const relay::Function& primitive, const topi::Machine& machine) {
  return hash_of(machine_key(machine) + "\n" + save_json(primitive, Spans::LeaveOut));
}

std::string computation_key(const relay::Function& primitive) { return hash_of(save_json(primitive, Spans::LeaveOut)); }

RecordedPlans recorded_plans(const relay::Function& primitive, const CompileEnvironment& environment) {
  if (!environment.machine || !environment.passes) return {};
  const Map<String, ObjectRef>& config = environment.passes->config;
  const auto given = downcast_or_null<Map<String, ObjectRef>>(config.get_or_null(kRecords));
  const ObjectRef flag = config.get_or_null(kShippedRecords);
  int64_t is_shipped_used = 1;
  if (flag) number_boxes.unbox_int(flag.get(), &is_shipped_used);
  const Map<String, ObjectRef> shipped = is_shipped_used ? shipped_records() : Map<String, ObjectRef>();
  if (given.empty() && shipped.empty()) return {};
  const String key = workload_key(primitive, environment.machine);
  ObjectRef plans = given.get_or_null(key);
  if (!plans) plans = shipped.get_or_null(key);
  return plans ? downcast<RecordedPlans>(plans) : RecordedPlans();
}

void check_plans(const RecordedPlans& plans) {
  if (plans.size() > kMaxPlans) throw Error(ValueError) << "a kernel has no " << plans.size() << " plans";
  for (const ObjectRef& plan : plans) {
    auto pair = downcast_or_null<Array<ObjectRef>>(plan);
    if (!pair || pair.size() != 2 || !pair[0].as<StringNode>() || !pair[1].as<MapNode>())
      throw Error(ValueError) << "a plan is [rule, {knob: value}], not " << to_text(plan);
    const ScheduleRule* rule = rule_named(rule_of(plan).str());
    if (!rule || !rule->knobs)
      throw Error(ValueError) << "no schedule rule with knobs is called \"" << rule_of(plan) << "\"";
    for (const auto& [name, value] : pair[1].as<MapNode>()->entries) {
      if (!name.as<StringNode>()) throw Error(ValueError) << "knobs have names, not " << to_text(name);
      check_knob(*rule, downcast<String>(name), value);
    }
  }
}

Map<String, ObjectRef> knob_values(const ObjectRef& knobs) {
  Map<String, ObjectRef> out;
  if (!knobs) return out;
  for (const Field& field : knobs->type()->fields())
    if (is_knob(field)) out.set(field.name, number_boxes.box_int(knob_value(knobs.get(), field)));
  return out;
}

}  // namespace tessera::kernel
