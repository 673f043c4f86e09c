#include "runtime/profiling/profiling.h"

#include "runtime/cpu/thread_pool.h"
#include "runtime/device_api.h"
#include "runtime/module/module.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera::profiling {
namespace {

register_types<Count, Duration, Percent, Ratio, DeviceWrapper, MetricCollector, ReportNode> profiling_types;

/// "cpu0", as reports name devices.
std::string short_name(DLDevice device) {
  return device_type_name(device.device_type) + std::to_string(device.device_id);
}

Ref<DeviceWrapper> wrap(DLDevice device) {
  DeviceWrapper out;
  out.device_type = device.device_type;
  out.device_id = device.device_id;
  return make(std::move(out));
}

void wait_for(DLDevice device) {
  if (device.device_type != kDLCPU) get_device_api(device)->sync(device, nullptr);
}

void merge(const Metrics& from, Metrics* into) {
  for (const auto& [name, value] : from) into->set(name, value);
}

double microseconds_of(const Metrics& metrics) {
  auto* found = metrics.get_or_null(kDuration).as<Duration>();
  return found ? found->microseconds : 0;
}

}  // namespace

ObjectRef count(int64_t value) {
  Count out;
  out.value = value;
  return make(std::move(out));
}
ObjectRef duration(double microseconds) {
  Duration out;
  out.microseconds = microseconds;
  return make(std::move(out));
}
ObjectRef percent(double value) {
  Percent out;
  out.percent = value;
  return make(std::move(out));
}
ObjectRef ratio(double value) {
  Ratio out;
  out.ratio = value;
  return make(std::move(out));
}

std::string argument_text(const DLTensor* tensor) {
  std::string out = to_text(DataType(tensor->dtype)) + "[";
  for (int i = 0; i < tensor->ndim; ++i) out += (i ? ", " : "") + std::to_string(tensor->shape[i]);
  return out + "]";
}

Profiler::Profiler(std::vector<DLDevice> devices, Collectors collectors, Metrics configuration)
    : devices_(std::move(devices)), collectors_(std::move(collectors)), configuration_(std::move(configuration)) {
  configuration_.set("Number of threads", count(num_threads()));
  Array<ObjectRef> wrapped;
  for (DLDevice device : devices_) wrapped.push_back(wrap(device));
  for (const auto& collector : collectors_) collector->init(wrapped);
}

void Profiler::start() {
  ICHECK(totals_.empty()) << "a profiler measures one run";
  for (DLDevice device : devices_) {
    start_call("Total", device);
    totals_.push_back(std::move(open_.back()));
    open_.pop_back();
  }
}

void Profiler::stop() {
  ICHECK(open_.empty()) << "a call was begun and not ended";
  for (Frame& total : totals_) finish(total);
}

void Profiler::start_call(const std::string& name, DLDevice device, Metrics extra) {
  Frame frame{name, device, std::move(extra), {}, {}};
  for (const auto& collector : collectors_) frame.collecting.push_back(collector->start(wrap(device)));
  wait_for(device);
  frame.begin = std::chrono::steady_clock::now();
  open_.push_back(std::move(frame));
}

void Profiler::stop_call(const Metrics& extra) {
  ICHECK(!open_.empty()) << "no call was begun";
  Frame frame = std::move(open_.back());
  open_.pop_back();
  finish(frame);
  merge(extra, &frame.metrics);
  calls_.push_back(std::move(frame));
}

void Profiler::finish(Frame& frame) {
  wait_for(frame.device);
  std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - frame.begin;
  for (size_t i = 0; i < collectors_.size(); ++i)
    if (!frame.collecting[i].is_null()) merge(collectors_[i]->stop(frame.collecting[i]).to<Metrics>(), &frame.metrics);
  frame.metrics.set("Name", String(frame.name));
  frame.metrics.set("Device", String(short_name(frame.device)));
  frame.metrics.set("Count", count(1));
  frame.metrics.set(kDuration, duration(passed.count()));
}

Report Profiler::report() const {
  double whole = 0;
  for (const Frame& total : totals_) whole = std::max(whole, microseconds_of(total.metrics));
  auto with_share = [&](Metrics metrics) {
    metrics.set("Percent", percent(whole > 0 ? microseconds_of(metrics) / whole * 100 : 0));
    return metrics;
  };
  ReportNode out;
  for (const Frame& call : calls_) out.calls.push_back(with_share(call.metrics));
  for (const Frame& total : totals_)
    out.device_metrics.set(String(short_name(total.device)), with_share(total.metrics));
  out.configuration = configuration_;
  return make(std::move(out));
}

namespace {

/// A function with the parameters of `name` that runs it once, after some runs to warm up, and gives its metrics.
PackedFunc profile_function(Module module, std::string name, int device_type, int device_id, int warmups,
                            Collectors collectors) {
  PackedFunc function = module ? module.get_function(name) : get_global(name);
  if (!function)
    throw Error(AttributeError) << "profile_function: the " << module->type_key() << " module has no function '" << name
                                << "'";
  if (warmups < 0) throw Error(ValueError) << "profile_function: warmup_iters is at least 0, not " << warmups;
  return PackedFunc([=, device = make_device(device_type, device_id)](Args args, Any* result) {
    Any ignored;
    for (int i = 0; i < warmups; ++i) function.call_packed(args, &ignored);
    Profiler profiler({device}, collectors, {});
    profiler.start_call(name, device);
    function.call_packed(args, &ignored);
    profiler.stop_call();
    Metrics metrics = profiler.report()->calls[0];
    for (const char* described : {"Name", "Device", "Count", "Percent"}) metrics.erase(described);
    *result = Any(metrics);
  });
}

Ref<MetricCollector> collector_of(PackedFunc init, PackedFunc start, PackedFunc stop) {
  MetricCollector out;
  out.init = std::move(init);
  out.start = std::move(start);
  out.stop = std::move(stop);
  return make(std::move(out));
}

Report report_of(Array<Metrics> calls, Map<String, Metrics> device_metrics, Metrics configuration) {
  ReportNode out;
  out.calls = std::move(calls);
  out.device_metrics = std::move(device_metrics);
  out.configuration = std::move(configuration);
  return make(std::move(out));
}

Globals profiling_globals{
    {"runtime.profiling.Count", count},
    {"runtime.profiling.Duration", duration},
    {"runtime.profiling.Percent", percent},
    {"runtime.profiling.Ratio", ratio},
    {"runtime.profiling.DeviceWrapper", wrap},
    {"runtime.profiling.MetricCollector", collector_of},
    {"runtime.profiling.Report", report_of},
    {"runtime.profiling.AsTable",
     [](Report report, bool sort, bool aggregate, bool sums) { return report->table(sort, aggregate, sums); }},
    {"runtime.profiling.AsCSV", [](Report report) { return report->csv(); }},
    {"runtime.profiling.AsJSON", [](Report report) { return report->json(); }},
    {"runtime.profiling.FromJSON", [](std::string text) { return report_from_json(text); }},
    {"runtime.profiling.ProfileFunction", profile_function},
};

}  // namespace
}  // namespace tessera::profiling
