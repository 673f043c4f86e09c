#include "tune/auto_scheduler/record.h"

#include <cmath>

#include "base/escape.h"
#include "base/json.h"
#include "ir/repr.h"
#include "runtime/archive/files.h"
#include "tune/auto_scheduler/steps/step_support.h"

namespace tessera::auto_scheduler {
namespace {

constexpr const char* kVersion = "v0.6";
constexpr size_t kMaxSteps = 1 << 16;

std::string quoted_json(std::string_view text) { return escaped(text, "\\u00"); }

const std::vector<ObjectRef>& list_of(const ObjectRef& value, const char* what, size_t least) {
  auto* list = value.as<ArrayNode>();
  if (!list || list->items.size() < least)
    throw Error(ValueError) << what << " is not a list of " << least << " or more";
  return list->items;
}

double number_of(const ObjectRef& value, const char* what) {
  double out = 0;
  if (!value || !number_boxes.unbox_float(value.get(), &out)) throw Error(ValueError) << what << " is not a number";
  return out;
}

Step read_step(const ObjectRef& value) {
  const std::vector<ObjectRef>& items = list_of(value, "a step", 1);
  const std::string code = text_at(items, 0);
  std::string known;
  for (const StepRow& row : step_rows()) {
    if (code == row.code) return row.read(items);
    known += (known.empty() ? "" : ", ") + std::string(row.code);
  }
  throw Error(ValueError) << "there is no step " << quoted(code) << "; there are " << known;
}

SearchTask read_task(const ObjectRef& value) {
  const std::vector<ObjectRef>& items = list_of(value, "the task", 3);
  SearchTaskNode task;
  task.workload_key = text_at(items, 0);
  task.target = Target::parse(text_at(items, 1));
  const std::vector<ObjectRef>& numbers = list_of(items[2], "the hardware", 8);
  auto number = [&](size_t i) { return static_cast<int32_t>(int_at(numbers, i, INT32_MIN, INT32_MAX)); };
  task.hardware_params = make(
      HardwareParamsNode{{}, number(0), number(1), number(2), number(3), number(4), number(5), number(6), number(7)});
  if (items.size() > 3)
    if (std::string host = text_at(items, 3); !host.empty()) task.target_host = Target::parse(host);
  if (items.size() > 4) task.layout_rewrite_option = static_cast<LayoutRewrite>(int_at(items, 4, 0, 2));
  if (items.size() > 5)
    for (const ObjectRef& name : list_of(items[5], "the names of inputs", 0)) {
      auto* text = name.as<StringNode>();
      if (!text) throw Error(ValueError) << "a name of an input is no text";
      task.task_input_names.push_back(String(text));
    }
  return make(std::move(task));
}

}  // namespace

std::string record_line(const MeasureInput& input, const MeasureResult& result) {
  const SearchTask& task = input->task;
  const HardwareParamsNode& hardware = *task->hardware_params;
  std::string out = "{\"i\": [[" + quoted_json(task->workload_key) + ", ";
  out += quoted_json(task->search_target().str()) + ", [";
  out += numbers_text(hardware.num_cores, hardware.vector_unit_bytes, hardware.cache_line_bytes,
                      hardware.max_shared_memory_per_block, hardware.max_local_memory_per_block,
                      hardware.max_threads_per_block, hardware.max_vthread_extent, hardware.warp_size);
  out += "], " + quoted_json(task->target_host ? downcast<Target>(task->target_host).str() : "") + ", ";
  out += std::to_string(static_cast<int>(task->layout_rewrite_option)) + ", [";
  for (size_t i = 0; i < task->task_input_names.size(); ++i)
    out += (i ? ", " : "") + quoted_json(task->task_input_names[i]);
  out += "]], [[], [";
  bool is_first = true;
  for (const Step& step : input->state->transform_steps) {
    const StepRow& row = row_of(step.get());
    out += std::string(is_first ? "" : ", ") + "[\"" + row.code + "\", " + row.write(step.get()) + "]";
    is_first = false;
  }
  out += "]]], \"r\": [[";
  is_first = true;
  for (const PrimExpr& cost : result->costs) {
    double seconds = 0;
    number_boxes.unbox_float(cost.get(), &seconds);
    out += (is_first ? "" : ", ") + (std::isfinite(seconds) ? short_number(seconds) : "1e+10");
    is_first = false;
  }
  out += "], " + std::to_string(result->error_no) + ", " + short_number(result->all_cost) + ", ";
  out += std::to_string(static_cast<int64_t>(result->timestamp)) + "], \"v\": \"" + kVersion + "\"}";
  return out;
}

std::pair<MeasureInput, MeasureResult> read_record(const std::string& line) {
  ObjectRef parsed = parse_json(line);
  auto* record = parsed.as<MapNode>();
  if (!record) throw Error(ValueError) << "a record is a JSON object";
  auto field = [&](const char* name) -> ObjectRef {
    const ObjectRef* found = record->find(String(name).get());
    if (!found || !*found) throw Error(ValueError) << "a record has no " << quoted(name);
    return *found;
  };
  ObjectRef version = field("v");
  if (auto* text = version.as<StringNode>(); !text || text->text.size() > 8 || text->text > kVersion)
    throw Error(ValueError) << "the version of a record is " << version << "; this reads up to " << kVersion;
  const ObjectRef input_value = field("i"), result_value = field("r");
  const std::vector<ObjectRef>& input = list_of(input_value, "the input", 2);
  const std::vector<ObjectRef>& state = list_of(input[1], "the state", 2);
  StateNode node;
  const std::vector<ObjectRef>& steps = list_of(state[1], "the steps", 0);
  if (steps.size() > kMaxSteps) throw Error(ValueError) << "a state has " << steps.size() << " steps";
  for (const ObjectRef& step : steps) node.transform_steps.push_back(read_step(step));
  const std::vector<ObjectRef>& measured = list_of(result_value, "the result", 4);
  MeasureResultNode result;
  for (const ObjectRef& cost : list_of(measured[0], "the costs", 0))
    result.costs.push_back(downcast<PrimExpr>(number_boxes.box_float(number_of(cost, "a cost"))));
  result.error_no = static_cast<int32_t>(int_at(measured, 1, 0, 8));
  result.all_cost = number_of(measured[2], "the time in all");
  result.timestamp = number_of(measured[3], "the time of measuring");
  return {make(MeasureInputNode{{}, read_task(input[0]), make(std::move(node))}), make(std::move(result))};
}

void append_records(const std::string& path, const std::vector<std::pair<MeasureInput, MeasureResult>>& records) {
  std::string text;
  for (const auto& [input, result] : records) text += record_line(input, result) + "\n";
  LineFile(path, "records").append(text);
}

}  // namespace tessera::auto_scheduler
