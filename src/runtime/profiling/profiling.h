#pragma once
// What a run cost, call by call: metrics, the report of a run, and the profiler that executors write it with.
//
//   Profiler profiler({device}, collectors, {{"Executor", String("Graph")}});
//   profiler.start();
//   for (...) {
//     profiler.start_call("fused_add", device, {{"Argument Shapes", String("float32[8]")}});
//     ...
//     profiler.stop_call();
//   }
//   profiler.stop();
//   Report report = profiler.report();

#include <chrono>

#include "runtime/device.h"
#include "runtime/packed_func.h"

namespace tessera::profiling {

inline constexpr const char* kDuration = "Duration (us)";  // the metric that every row has

/// Values of one call (or one device) by name: metrics, and strings that describe it.
using Metrics = Map<String, ObjectRef>;

/// The string with the nodes of the model file that a call computes, "conv1, relu1", where they are known.
inline constexpr const char* kNodes = "Nodes";

struct Count : Object {
  int64_t value = 0;
  static constexpr NodeInfo info{"runtime.profiling.Count", &Object::info};
  static void fields(auto f) { f("value", &Count::value); }
};
struct Duration : Object {
  double microseconds = 0;
  static constexpr NodeInfo info{"runtime.profiling.Duration", &Object::info};
  static void fields(auto f) { f("microseconds", &Duration::microseconds); }
};
/// Of the whole run; 100 is all of it.
struct Percent : Object {
  double percent = 0;
  static constexpr NodeInfo info{"runtime.profiling.Percent", &Object::info};
  static void fields(auto f) { f("percent", &Percent::percent); }
};
struct Ratio : Object {
  double ratio = 0;
  static constexpr NodeInfo info{"runtime.profiling.Ratio", &Object::info};
  static void fields(auto f) { f("ratio", &Ratio::ratio); }
};
ObjectRef count(int64_t value);
ObjectRef duration(double microseconds);
ObjectRef percent(double value);
ObjectRef ratio(double value);

/// A device as an object, as collectors are given it.
struct DeviceWrapper : Object {
  int32_t device_type = 0, device_id = 0;
  static constexpr NodeInfo info{"runtime.profiling.DeviceWrapper", &Object::info};
  static void fields(auto f) {
    f("device_type", &DeviceWrapper::device_type);
    f("device_id", &DeviceWrapper::device_id);
  }
};

/// Counts something while calls run. `init(devices)` is called once before a run, `start(device)` before each call,
/// `stop(what start gave)` after it; that returns metrics by name. Calls may lie inside each other.
struct MetricCollector : Object {
  PackedFunc init, start, stop;
  static constexpr NodeInfo info{"runtime.profiling.MetricCollector", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("init", &MetricCollector::init);
    f("start", &MetricCollector::start);
    f("stop", &MetricCollector::stop);
  }
};
using Collectors = Array<Ref<MetricCollector>>;

/// The costs of one run: of each call, of each device over the whole run, and how the run was set up.
struct ReportNode : Object {
  Array<Metrics> calls;
  Map<String, Metrics> device_metrics;
  Metrics configuration;
  static constexpr NodeInfo info{"runtime.profiling.Report", &Object::info};
  static void fields(auto f) {
    f("calls", &ReportNode::calls);
    f("device_metrics", &ReportNode::device_metrics);
    f("configuration", &ReportNode::configuration);
  }

  /// For people: a row a call. Calls of one kernel with equal arguments are one row when `aggregate` is set; `sort` puts
  /// the longest first; `col_sums` adds the sum of each column and the totals of each device.
  std::string table(bool sort = true, bool aggregate = true, bool col_sums = true) const;
  /// The rows of that table; an empty one is a line between calls and sums.
  std::vector<Metrics> rows(bool sort = true, bool aggregate = true, bool col_sums = true) const;
  /// One line a call, columns sorted by name.
  std::string csv() const;
  /// Every value with its kind: {"calls": [{"Name": {"string": "x"}, "Duration (us)": {"microseconds": 1.5}}], ...}.
  std::string json() const;
};
using Report = Ref<ReportNode>;
/// The columns of such rows, the well-known ones first.
std::vector<std::string> columns_of(const std::vector<Metrics>& rows);
/// A metric as tables show it: "1,234.50".
std::string metric_text(const ObjectRef& metric);
/// True for metrics that are counted or measured, false for descriptions.
bool is_measured(const ObjectRef& metric);

/// Runs of one program as one report, whose numbers are the means of theirs. The runs must have made the same calls.
Report mean_report(const std::vector<Report>& reports);

/// Reads what `json` wrote; anything else is a ValueError.
Report report_from_json(std::string_view text);

/// Measures calls. A device that works on its own is waited for before the clock is read.
class Profiler {
 public:
  /// `configuration` is added to what every report says (the number of threads).
  Profiler(std::vector<DLDevice> devices, Collectors collectors, Metrics configuration);

  /// Begins and ends the whole run.
  void start();
  void stop();
  /// Begins a call; calls may lie inside each other. `extra` is what is known of it beside what is measured.
  void start_call(const std::string& name, DLDevice device, Metrics extra = {});
  /// Ends the call begun last.
  void stop_call(const Metrics& extra = {});

  Report report() const;

 private:
  struct Frame {
    std::string name;
    DLDevice device;
    Metrics metrics;
    std::vector<Any> collecting;  // what each collector's start gave
    std::chrono::steady_clock::time_point begin;
  };
  void finish(Frame& frame);

  std::vector<DLDevice> devices_;
  Collectors collectors_;
  Metrics configuration_;
  std::vector<Frame> totals_, open_, calls_;
};

/// "float32[1, 3, 224, 224]", as reports show arguments.
std::string argument_text(const DLTensor* tensor);

}  // namespace tessera::profiling
