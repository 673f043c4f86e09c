#include "runtime/profiling/time_evaluator.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/device_api.h"
#include "runtime/module/module.h"
#include "runtime/registry.h"
#include "runtime/rpc/client_session.h"

namespace tessera {
namespace {

double seconds_of(const PackedFunc& function, Args args, const TimePlan& plan, int64_t calls) {
  DeviceAPI* api = get_device_api(plan.device);
  api->sync(plan.device, nullptr);
  auto start = std::chrono::steady_clock::now();
  Any ignored;
  for (int64_t i = 0; i < calls; ++i) function.call_packed(args, &ignored);
  api->sync(plan.device, nullptr);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The mean time of one call. Grows the number of calls until they take min_repeat_ms together; the number found is
/// kept for the next repeat. A function whose time reads zero that often is not worth waiting for. `first`: the seconds of
/// one of these calls, which has been made already; 0: none has.
double measure(const PackedFunc& function, Args args, const TimePlan& plan, int64_t& calls, double first) {
  double wanted = static_cast<double>(plan.min_repeat_ms) * 1e-3;
  for (int64_t zeros = 0;;) {
    double seconds = first + seconds_of(function, args, plan, calls - (first > 0));
    first = 0;
    if (seconds <= 0) ++zeros;
    if (seconds >= wanted || zeros >= plan.limit_zero_time_iterations) return seconds / static_cast<double>(calls);
    double needed = seconds > 0 ? wanted / (seconds / static_cast<double>(calls)) + 1 : 0;
    double grown = static_cast<double>(calls) * 1.618;
    calls = std::max(calls + 1, static_cast<int64_t>(std::min(std::max(needed, grown), 1e12)));
  }
}

}  // namespace

void TimePlan::check(const char* who) const {
  if (number < 1 || repeat < 1)
    throw Error(ValueError) << who << ": number and repeat are at least 1, not " << number << " and " << repeat;
}

std::vector<double> measure_calls(const PackedFunc& function, Args args, const TimePlan& plan) {
  Any ignored;
  double first = seconds_of(function, args, plan, 1);  // warms caches and resolves symbols
  if (plan.counted_seconds <= 0 || first < plan.counted_seconds || plan.prepare) first = 0;
  std::vector<double> means;
  int64_t calls = plan.number;
  for (int64_t i = 0; i < plan.repeat; ++i) {
    if (plan.prepare) plan.prepare.call_packed(args, &ignored);
    means.push_back(measure(function, args, plan, calls, first));
    first = 0;
    if (plan.cooldown_ms > 0 && i % std::max<int64_t>(plan.repeats_to_cooldown, 1) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(plan.cooldown_ms));
  }
  return means;
}

Bytes to_bytes(const std::vector<double>& seconds) {
  return Bytes(std::string(reinterpret_cast<const char*>(seconds.data()), seconds.size() * sizeof(double)));
}

namespace {

PackedFunc evaluator_of(const Module& module, const std::string& name, const TimePlan& plan) {
  PackedFunc function = module ? module.get_function(name) : get_global(name);
  if (!function)
    throw Error(AttributeError) << "time_evaluator: the " << module->type_key() << " module has no function '" << name
                                << "'";
  plan.check("time_evaluator");
  return PackedFunc(
      [function, plan](Args args, Any* result) { *result = Any(to_bytes(measure_calls(function, args, plan))); });
}

PackedFunc time_evaluator(Module module, std::string name, int device_type, int device_id, int64_t number,
                          int64_t repeat, int64_t min_repeat_ms, int64_t limit_zero_time_iterations,
                          int64_t cooldown_interval_ms, int64_t repeats_to_cooldown, std::string f_preproc) {
  if (rpc::RemoteModule* remote = rpc::as_remote(module))  // measured over there
    return remote->object()
        .session
        ->get_function("runtime.RPCTimeEvaluator")(module, name, device_type % kRpcSessionMask, device_id, number,
                                                   repeat, min_repeat_ms, limit_zero_time_iterations,
                                                   cooldown_interval_ms, repeats_to_cooldown, f_preproc)
        .to<PackedFunc>();
  TimePlan plan{make_device(device_type, device_id),
                number,
                repeat,
                min_repeat_ms,
                limit_zero_time_iterations,
                cooldown_interval_ms,
                repeats_to_cooldown};
  if (!f_preproc.empty()) plan.prepare = get_global(f_preproc);
  return evaluator_of(module, name, plan);
}

/// Of a candidate of a search: where its first call takes `counted_seconds` (0: never), that is as good as any.
PackedFunc candidate_evaluator(const Module& module, const std::string& name, int device_type, int64_t number,
                               int64_t repeat, int64_t min_repeat_ms, double counted_seconds) {
  TimePlan plan{make_device(device_type, 0), number, repeat, min_repeat_ms};
  plan.counted_seconds = counted_seconds;
  return evaluator_of(module, name, plan);
}

Globals time_evaluator_globals{{"runtime.RPCTimeEvaluator", time_evaluator},
                               {"runtime.CandidateTimeEvaluator", candidate_evaluator}};

}  // namespace
}  // namespace tessera
