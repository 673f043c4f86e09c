#include "tune/meta_schedule/records.h"

#include <limits>

#include "ir/json/json.h"
#include "ir/json/tensor.h"
#include "ir/structural/equal.h"
#include "runtime/registry.h"
#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {
namespace {

/// A list of `size` values, or a ValueError that says what was to be one.
Array<ObjectRef> list_of(const ObjectRef& json, size_t size, const char* what) {
  auto* list = json.as<ArrayNode>();
  if (!list || list->items.size() != size)
    throw Error(ValueError) << what << " is a list of " << size << " values, not " << to_text(json);
  return Array<ObjectRef>(list);
}

constexpr int64_t kMaxDimension = int64_t{1} << 40;
constexpr size_t kMaxDimensions = 64;
constexpr size_t kMaxRuns = 1 << 20;
constexpr size_t kMaxInstructions = 1 << 16;

}  // namespace

Array<ArgInfo> args_of(const PrimFunc& function) {
  Array<ArgInfo> out;
  for (const Var& param : function->params) {
    Buffer buffer = function->buffer_map.get_or_null(param);
    if (!buffer) throw Error(ValueError) << "parameter " << param->name << " is a scalar; only tensors are measured";
    out.push_back(make(TensorInfoNode{.dtype = buffer->dtype, .shape = buffer->shape}));
  }
  return out;
}

Array<ArgInfo> args_of(const IRModule& mod) {
  auto functions = mod.sorted_functions();
  BaseFunc entry = functions.size() == 1 ? functions[0].second : mod.lookup("main");
  auto* program = entry.as<PrimFuncNode>();
  if (!program) throw Error(TypeError) << "the entry of a workload is a PrimFunc, not a " << entry->type_key();
  return args_of(PrimFunc(program));
}

Array<ObjectRef> as_json(const ArgInfo& arg) {
  auto* tensor = arg.as<TensorInfoNode>();
  ICHECK(tensor) << "all arguments are tensors";
  Array<ObjectRef> shape;
  for (const PrimExpr& extent : tensor->shape) shape.push_back(extent);
  return {String("TENSOR"), String(to_text(tensor->dtype)), shape};
}

ArgInfo arg_from_json(const ObjectRef& json) {
  Array<ObjectRef> parts = list_of(json, 3, "an argument");
  auto* kind = parts[0].as<StringNode>();
  auto* dtype = parts[1].as<StringNode>();
  auto* shape = parts[2].as<ArrayNode>();
  if (!kind || kind->text != "TENSOR" || !dtype || !shape || shape->items.size() > kMaxDimensions)
    throw Error(ValueError) << "an argument is [\"TENSOR\", dtype, shape], not " << to_text(json);
  TensorInfoNode out;
  out.dtype = Any(dtype->text).to<DataType>();
  for (const ObjectRef& extent : shape->items) {
    auto* number = extent.as<IntImm>();
    if (!number || number->value < 0 || number->value > kMaxDimension)
      throw Error(ValueError) << "a shape has extents of 0 to 2^40, not " << to_text(extent);
    out.shape.push_back(PrimExpr(number));
  }
  return make(std::move(out));
}

Workload make_workload(const IRModule& mod) { return make(WorkloadNode{.mod = mod, .shash = structural_hash(mod)}); }

Array<ObjectRef> as_json(const Workload& workload) {
  return {String(std::to_string(static_cast<uint64_t>(workload->shash))),
          String(to_base64(save_json(workload->mod, Spans::LeaveOut)))};
}

/// The hash of the text is that of whoever wrote it: it is computed anew.
Workload workload_from_json(const ObjectRef& json) {
  Array<ObjectRef> parts = list_of(json, 2, "a workload");
  auto* text = parts[1].as<StringNode>();
  if (!parts[0].as<StringNode>() || !text)
    throw Error(ValueError) << "a workload is [hash, module], both text, not " << to_text(json);
  ObjectRef mod = load_json(from_base64(text->text));
  if (!mod.as<IRModuleNode>()) throw Error(ValueError) << "a workload is a module, not a " << mod->type_key();
  return make_workload(IRModule(mod.as<IRModuleNode>()));
}

std::vector<double> seconds_of(const Array<ObjectRef>& run_secs) {
  std::vector<double> out;
  for (const ObjectRef& each : run_secs) {
    double value;
    if (!each || !number_boxes.unbox_float(each.get(), &value))
      throw Error(ValueError) << "times are floats, not " << to_text(each);
    out.push_back(value);
  }
  return out;
}

double mean_seconds(const Array<ObjectRef>& run_secs) {
  std::vector<double> seconds = run_secs.defined() ? seconds_of(run_secs) : std::vector<double>();
  if (seconds.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (double each : seconds) sum += each;
  return sum / static_cast<double>(seconds.size());
}

Array<ObjectRef> as_json(const TuningRecord& record) {
  ObjectRef target, args;
  if (record->target) target = record->target.export_config();
  if (record->args_info.defined()) {
    Array<ObjectRef> list;
    for (const ArgInfo& arg : record->args_info) list.push_back(as_json(arg));
    args = list;
  }
  ObjectRef seconds = record->run_secs.defined() ? ObjectRef(record->run_secs) : ObjectRef();
  return {schedule::trace_as_json(record->trace), seconds, target, args};
}

TuningRecord record_from_json(const ObjectRef& json, const Workload& workload) {
  Array<ObjectRef> parts = list_of(json, 4, "a tuning record");
  TuningRecordNode out;
  out.workload = workload;
  schedule::Schedule sch = schedule::make_schedule(workload->mod, 1, 0, 0);
  Array<ObjectRef> trace = list_of(parts[0], 2, "a trace");
  auto* instructions = trace[0].as<ArrayNode>();
  if (!instructions || instructions->items.size() > kMaxInstructions)
    throw Error(ValueError) << "a trace has a list of at most " << kMaxInstructions << " instructions";
  schedule::replay_json(trace, *sch.edit());
  out.trace = sch->trace;
  if (parts[1]) {
    auto* list = parts[1].as<ArrayNode>();
    if (!list || list->items.size() > kMaxRuns) throw Error(ValueError) << "times are a list of floats";
    Array<ObjectRef> seconds;
    for (double each : seconds_of(Array<ObjectRef>(list))) seconds.push_back(box(Any(each)));
    out.run_secs = seconds;
  }
  if (parts[2]) out.target = Any::of_object(parts[2].get()).to<Target>();
  if (parts[3]) {
    auto* list = parts[3].as<ArrayNode>();
    if (!list) throw Error(ValueError) << "arguments are a list";
    Array<ArgInfo> args;
    for (const ObjectRef& each : list->items) args.push_back(arg_from_json(each));
    out.args_info = args;
  }
  return make(std::move(out));
}

schedule::Schedule scheduled(const TuningRecord& record) {
  schedule::Schedule sch = schedule::make_schedule(record->workload->mod, -1, 0, 0);
  schedule::replay(record->trace, *sch.edit(), false, nullptr);
  return sch;
}

}  // namespace tessera::meta_schedule
