// The measurement core for other languages: building candidates with the whole pipeline, and runners.

#include "driver/build_candidates.h"
#include "driver/build_module.h"
#include "driver/compile_model.h"
#include "driver/relay_build.h"
#include "runtime/containers.h"
#include "runtime/registry.h"
#include "tune/measure.h"
#include "tune/task.h"
#include "tune/turns.h"

namespace tessera {
namespace {

class RunnerModule : public ModuleBody {
 public:
  explicit RunnerModule(std::unique_ptr<tune::CandidateRunner> runner) : runner_(std::move(runner)) {}
  std::string type_key() const override { return "tune_runner"; }
  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "run") return PackedFunc([this, self](Args args, Any* result) { *result = run(args); });
    if (name == "compare") return PackedFunc([this, self](Args args, Any* result) { *result = compare(args); });
    if (name == "plans_in_turns")
      return PackedFunc([this, self](Args args, Any* result) { *result = plans_in_turns(args); });
    if (name == "in_turns") return PackedFunc([this, self](Args args, Any* result) { *result = in_turns(args); });
    return nullptr;
  }

 private:
  static std::vector<tune::TensorSpec> specs_of(Args args, int first) {
    std::vector<tune::TensorSpec> out;
    for (int i = first; i < args.size(); i += 2) {
      if (auto* value = cast_or_null<NDArray::Node>(args[i].object())) {
        const NDArray given(value);
        out.push_back({{given.shape().begin(), given.shape().end()}, args[i + 1].to<DataType>(), given});
        continue;
      }
      auto shape = args[i].to<ShapeTuple>();
      out.push_back({{shape.span().begin(), shape.span().end()}, args[i + 1].to<DataType>()});
    }
    return out;
  }

  /// Runners of v0.10 report a lost device as the error of each candidate.
  template <class Result = tune::RunResult>
  static Result recorded(const std::function<Result()>& act) {
    try {
      return act();
    } catch (const Error& error) {
      return {tune::MeasureError::RuntimeDevice, error.message()};
    }
  }

  static Bytes bytes_of(const std::vector<double>& seconds) {
    return Bytes(std::string(reinterpret_cast<const char*>(seconds.data()), seconds.size() * sizeof(double)));
  }

  /// compare(path, path, function, timeout, device type, how many are inputs, shape, dtype, ...) gives [error, message].
  Any compare(Args args) {
    constexpr int kFirst = 6;
    if (args.size() < kFirst || (args.size() - kFirst) % 2) throw_argument_count("compare", kFirst, args.size());
    tune::RunOptions options;
    options.timeout = args[3].to<double>();
    options.device_type = args[4].to<int>();
    const auto inputs = static_cast<size_t>(std::max<int64_t>(args[5].to<int64_t>(), 0));
    const auto result = recorded<tune::RunResult>([&] {
      return runner_->compare(args[0].to<std::string>(), args[1].to<std::string>(), args[2].to<std::string>(),
                              specs_of(args, kFirst), inputs, options);
    });
    return Array<ObjectRef>{box(Any(static_cast<int>(result.error))), String(result.message)};
  }

  /// run(path, function, timeout, number, repeat, min_repeat_ms, device type, shape, dtype, shape, dtype, ...) gives [error,
  /// message, times as bytes]. A tensor in place of a shape is the argument's value.
  Any run(Args args) {
    constexpr int kFirst = 7;
    if (args.size() < kFirst || (args.size() - kFirst) % 2) throw_argument_count("run", kFirst, args.size());
    tune::RunOptions options{args[2].to<double>(), args[3].to<int64_t>(), args[4].to<int64_t>(), args[5].to<int64_t>(),
                             args[6].to<int>()};
    const std::vector<tune::TensorSpec> specs = specs_of(args, kFirst);
    const auto result = recorded<tune::RunResult>(
        [&] { return runner_->run(args[0].to<std::string>(), args[1].to<std::string>(), specs, options); });
    return Array<ObjectRef>{box(Any(static_cast<int>(result.error))), String(result.message), bytes_of(result.seconds)};
  }

  /// in_turns(path of the rule's, path of the found one, function, timeout, number, repeat, min_repeat_ms, device type, how many are
  /// inputs, shape, dtype, ...) gives [error, message, is faster, times of the rule's as bytes, those of the found one].
  Any in_turns(Args args) {
    constexpr int kFirst = 9;
    if (args.size() < kFirst || (args.size() - kFirst) % 2) throw_argument_count("in_turns", kFirst, args.size());
    const tune::RunOptions options{args[3].to<double>(), args[4].to<int64_t>(), args[5].to<int64_t>(),
                                   args[6].to<int64_t>(), args[7].to<int>()};
    const auto inputs = static_cast<size_t>(std::max<int64_t>(args[8].to<int64_t>(), 0));
    const std::vector<tune::TensorSpec> specs = specs_of(args, kFirst);
    const auto turns = recorded<tune::Turns>([&] {
      return tune::run_in_turns(*runner_, args[0].to<std::string>(), args[1].to<std::string>(),
                                args[2].to<std::string>(), specs, inputs, options);
    });
    return told(turns);
  }

  static Any told(const tune::Turns& turns) {
    return Array<ObjectRef>{box(Any(static_cast<int>(turns.error))), String(turns.message),
                            number_boxes.box_bool(turns.is_faster), bytes_of(turns.rule), bytes_of(turns.found)};
  }

  /// plans_in_turns(primitive function, target, plans, timeout, number, repeat, min_repeat_ms): a kernel of a model by plans beside the
  /// same by its rules; gives the same.
  Any plans_in_turns(Args args) {
    if (args.size() != 7) throw_argument_count("plans_in_turns", 7, args.size());
    const auto primitive = args[0].to<relay::Function>();
    const auto target = args[1].to<Target>();
    const auto plans = args[2].to<kernel::RecordedPlans>();
    const tune::RunOptions options{args[3].to<double>(), args[4].to<int64_t>(), args[5].to<int64_t>(),
                                   args[6].to<int64_t>()};
    const auto environment = kernel::CompileEnvironment::make(target, host_of(target, nullptr), PassContext::current());
    const auto build = [&](const std::vector<IRModule>& programs, const std::vector<std::string>& paths) {
      return build_candidates(CandidateForm::Kernel, {programs.begin(), programs.end()}, paths, environment, {});
    };
    return told(recorded<tune::Turns>([&] {
      kernel::check_plans(plans);
      const tune::Task task = tune::task_of({primitive, target, kernel::kernel_name(primitive)}, environment);
      if (!task.is_tunable()) throw Error(ValueError) << "the kernel has no plans: " << task.why_not;
      return tune::plans_in_turns(task, plans, environment, build, *runner_, options);
    }));
  }

  std::unique_ptr<tune::CandidateRunner> runner_;
};

/// Builds candidates of a form (CandidateForm); gives [number of the error (0: none), message, seconds] of each.
Array<ObjectRef> build_for_search(int64_t form, const Array<ObjectRef>& candidates, const Array<String>& paths,
                                  const Target& target, int64_t threads, double timeout) {
  std::vector<std::string> files;
  for (const String& path : paths) files.push_back(path.str());
  const auto environment = kernel::CompileEnvironment::make(target, host_of(target, nullptr), PassContext::current());
  Array<ObjectRef> out;
  for (tune::BuildResult& result :
       build_candidates(static_cast<CandidateForm>(form), candidates, files, environment,
                        {static_cast<size_t>(std::max<int64_t>(threads, 0)), std::max(timeout, 0.0)}))
    out.push_back(Array<ObjectRef>{number_boxes.box_int(static_cast<int64_t>(result.error)),
                                   String(std::move(result.message)), number_boxes.box_float(result.seconds)});
  return out;
}

/// The kernels of a model as rules plan them: [workload, name, primitive function, decisions, lanes of float32], decisions as lists
/// of [rule, knobs] that fit, the chosen one first.
Array<ObjectRef> model_kernels(const IRModule& mod, const Map<String, NDArray>& params, const Target& target) {
  IRModule own = mod.copy();
  auto main = downcast<relay::Function>(own.lookup("main"));
  own.update(own.get_global_var("main"), relay::bind_params_by_name(main, params));
  const IRModule fused = relay::optimize(own, make_compilation_config({target}, {}));
  const auto environment = kernel::CompileEnvironment::make(target, host_of(target, nullptr), PassContext::current());
  Array<ObjectRef> out;
  for (const tune::Task& task : tune::extract_tasks(fused, environment)) {
    Array<ObjectRef> decisions;
    for (const kernel::Decision& decision : task.decisions) {
      Array<ObjectRef> plans;
      for (const auto& [rule, knobs] : decision.plans)
        plans.push_back(Array<ObjectRef>{String(rule->name), kernel::knob_values(knobs)});
      decisions.push_back(plans);
    }
    const int64_t lanes = environment.machine ? environment.machine->vector_bytes / 4 : 1;
    out.push_back(Array<ObjectRef>{String(task.workload), String(task.kernel.name), task.kernel.primitive, decisions,
                                   number_boxes.box_int(lanes)});
  }
  return out;
}

/// Why a kernel cannot be planned so; "" where it can.
std::string why_plans_do_not_fit(const relay::Function& primitive, const Target& target,
                                 const kernel::RecordedPlans& plans) {
  const auto environment = kernel::CompileEnvironment::make(target, host_of(target, nullptr), PassContext::current());
  try {
    kernel::check_plans(plans);
    kernel::program_of({primitive, target, kernel::kernel_name(primitive)}, environment, {plans});
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

/// What records know a kernel by: [of this target's machine, of every machine, the machine].
Array<ObjectRef> kernel_keys(const relay::Function& primitive, const Target& target) {
  const auto environment = kernel::CompileEnvironment::make(target, host_of(target, nullptr), PassContext::current());
  if (!environment.machine)
    throw Error(ValueError) << "kernels for " << target.str() << " have no records: it is no CPU";
  return {String(kernel::workload_key(primitive, environment.machine)), String(kernel::computation_key(primitive)),
          String(kernel::machine_key(environment.machine))};
}

Globals tune_globals{
    {"tune.ModelKernels", model_kernels},
    {"tune.KernelKeys", kernel_keys},
    {"tune.WhyPlansDoNotFit", why_plans_do_not_fit},
    {"tune.BuildCandidates", build_for_search},
    {"tune.LocalRunner",
     [](std::string program) { return make_module<RunnerModule>(tune::make_local_runner(program)); }},
    {"tune.RPCRunner",
     [](std::string host, int port, std::string key, int priority) {
       return make_module<RunnerModule>(tune::make_rpc_runner(host, port, key, priority));
     }},
};

}  // namespace
}  // namespace tessera
