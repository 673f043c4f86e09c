#include "driver/build_candidates.h"

#include <unistd.h>

#include "driver/build_module.h"
#include "driver/compile_model.h"
#include "driver/executor/kernel_library.h"
#include "driver/lower_schedule.h"
#include "driver/tune_model.h"
#include "ir/json/json.h"
#include "runtime/extension.h"
#include "runtime/registry.h"
#include "tir/lower.h"

namespace tessera {
namespace {

constexpr const char* kBuilder = "tune.BuildCandidate";

struct WithTarget {
  explicit WithTarget(const Target& target) { Target::enter(target); }
  ~WithTarget() { Target::exit(); }
  WithTarget(const WithTarget&) = delete;
};

Map<Target, IRModule> lowered(CandidateForm form, const ObjectRef& candidate,
                              const kernel::CompileEnvironment& environment) {
  const auto in_module = [&] {
    if (form != CandidateForm::Schedule) return downcast<IRModule>(candidate);
    const auto parts = downcast<Array<ObjectRef>>(candidate);
    return schedule_to_module(downcast<te::Schedule>(parts[0]), downcast<Array<ObjectRef>>(parts[1]),
                              downcast<String>(parts[2]));
  };
  Map<Target, IRModule> out;
  out.set(environment.target, in_module());
  if (form == CandidateForm::Kernel) return relay::lower_kernels(out, environment);
  if (form != CandidateForm::Lowered)
    out.set(environment.target, lower_module(out[environment.target], false, environment.passes));
  return out;
}

void build_one(CandidateForm form, const ObjectRef& candidate, const kernel::CompileEnvironment& environment,
               const std::string& path) {
  export_library(build(lowered(form, candidate, environment), environment.host, environment.passes), path);
}

constexpr const char* kUserPasses = "tir.add_lower_pass";

/// True where what is to come calls functions that only this process has.
bool is_bound_here(CandidateForm form, const kernel::CompileEnvironment& environment) {
  if (form == CandidateForm::Lowered) return false;
  if (form == CandidateForm::Kernel) return environment.calls_users();
  return !environment.passes->instruments.empty() || environment.passes->config.count(kUserPasses);
}

PassContext without_functions(const PassContext& given) {
  PassContextNode out = *given;
  out.instruments = {};
  out.config.erase(kUserPasses);  // what is lowered has them behind it
  return PassContext(make(std::move(out)));
}

/// What another process is sent: [form, candidate, target, host, options of passes].
std::string order_text(CandidateForm form, const ObjectRef& candidate, const kernel::CompileEnvironment& environment) {
  return save_json(Array<ObjectRef>{number_boxes.box_int(static_cast<int64_t>(form)), candidate, environment.target,
                                    environment.host, without_functions(environment.passes)},
                   Spans::LeaveOut);
}

/// The other side: what went wrong, or nothing.
std::string build_order(const std::string& text, const std::string& path) {
  try {
    const auto parts = downcast<Array<ObjectRef>>(load_json(text));
    const auto form = static_cast<CandidateForm>(Any::of_object(parts[0].get()).to<int64_t>());
    const PassContext passes(downcast<Ref<PassContextNode>>(parts[4]));
    const auto environment =
        kernel::CompileEnvironment::make(downcast<Target>(parts[2]), downcast<Target>(parts[3]), passes);
    const WithPassContext entered(passes);
    const WithTarget with_target(environment.target);
    build_one(form, parts[1], environment, path);
    return "";
  } catch (const std::exception& error) {
    const std::string message = error.what();
    return message.empty() ? "it cannot be built" : message;
  }
}

/// Of this process, also after a fork: a child must not talk to its parent's processes.
tune::BuildProcesses& processes() {
  static std::mutex mutex;
  static tune::BuildProcesses* out = nullptr;
  static pid_t owner = 0;
  std::lock_guard lock(mutex);
  if (owner != getpid()) {
    out = new tune::BuildProcesses({worker_program(), "--load-library", compiler_library()}, kBuilder);
    owner = getpid();
  }
  return *out;  // they end when their sockets are closed, with this process
}

Globals build_candidates_globals{{kBuilder, build_order}};

}  // namespace

std::vector<tune::BuildResult> build_candidates(CandidateForm form, const Array<ObjectRef>& candidates,
                                                const std::vector<std::string>& paths,
                                                const kernel::CompileEnvironment& environment,
                                                const BuildLimits& limits) {
  ICHECK(candidates.size() == paths.size()) << "each candidate has a file";
  const auto here = [&](size_t i) {
    const WithTarget with_target(environment.target);
    build_one(form, candidates[i], environment, paths[i]);
  };
  if (is_bound_here(form, environment)) return tune::build_here(paths.size(), 1, here);
  std::vector<tune::BuildOrder> orders;
  for (size_t i = 0; i < paths.size(); ++i)
    orders.push_back({[&, i] { return order_text(form, candidates[i], environment); }, paths[i]});
  std::vector<tune::BuildResult> out = processes().build(orders, limits.threads, limits.timeout);
  if (is_extended())  // an intrinsic or a code generator of users, which the other process does not know
    for (size_t i = 0; i < out.size(); ++i)
      if (out[i].error == tune::MeasureError::CompileHost && !out[i].has_died)
        out[i] = tune::build_here(1, 1, [&](size_t) { here(i); })[0];
  return out;
}

}  // namespace tessera
