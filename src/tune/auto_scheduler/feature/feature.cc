// Features of states, their names, and what other languages call.

#include "tune/auto_scheduler/feature/feature.h"

#include "base/run_tasks.h"
#include "runtime/containers.h"
#include "runtime/registry.h"
#include "te/prim_func.h"
#include "tir/lower.h"
#include "tir/transform/passes.h"

namespace tessera::auto_scheduler {

std::vector<std::vector<float>> features_of(const SearchTask& task, const State& state, size_t max_buffers) {
  try {
    auto [schedule, tensors] =
        apply_steps(task->compute_dag.get(), state->transform_steps, task->layout_rewrite_option);
    Array<ObjectRef> args;
    for (const te::Tensor& tensor : tensors) args.push_back(tensor);
    PrimFunc function = te::schedule_to_prim_func(schedule, args, "main");
    function = with(function, &PrimFuncNode::body, simplify(function->body));
    return features_of(function, {task->hardware_params->cache_line_bytes, max_buffers, true});
  } catch (const std::exception&) {  // what cannot be lowered has no features
    return {};
  }
}

std::vector<std::vector<float>> features_of(const IRModule& mod, const FeatureOptions& options) {
  std::vector<std::vector<float>> out;
  try {
    std::vector<Pass> passes = block_passes();
    passes.push_back(pass(simplify));
    const IRModule loops = run_passes(passes, mod);
    for (const auto& [name, function] : loops->functions)
      if (PrimFunc program = downcast_or_null<PrimFunc>(function))
        for (std::vector<float>& row : features_of(program, options)) out.push_back(std::move(row));
  } catch (const std::exception&) {
    return {};
  }
  return out;
}

std::vector<std::string> feature_names(size_t max_buffers) {
  static constexpr const char* kOps[] = {"mad", "addsub", "mul", "divmod", "cmp", "mathfunc", "otherfunc"};
  static constexpr const char* kPositionNames[] = {"None",        "InnerSpatial", "MiddleSpatial", "OuterSpatial",
                                                   "InnerReduce", "MiddleReduce", "OuterReduce",   "Mixed"};
  std::vector<std::string> out;
  for (const char* type : {"float_", "int_"})
    for (const char* op : kOps) out.push_back(std::string(type) + op);
  out.insert(out.end(), {"bool_op", "select_op"});
  for (const std::string kind : {"vec", "unroll", "parallel"}) {
    for (const char* what : {"_num", "_prod", "_len"}) out.push_back(kind + what);
    for (const char* position : kPositionNames) out.push_back(kind + "_type.kPos" + position);
  }
  for (const char* name : {"is_gpu", "blockIdx_x_len", "blockIdx_y_len", "blockIdx_z_len", "threadIdx_x_len",
                           "threadIdx_y_len", "threadIdx_z_len", "vthread_len"})
    out.emplace_back(name);
  for (size_t i = 0; i < max_buffers; ++i)
    for (const char* name :
         {"acc_type.kRead", "acc_type.kWrite", "acc_type.kReadWrite", "bytes", "unique_bytes", "lines", "unique_lines",
          "reuse_type.kLoopMultipleRead", "reuse_type.kSerialMultipleReadWrite", "reuse_type.kNoReuse",
          "reuse_dis_iter", "reuse_dis_bytes", "reuse_ct", "bytes_d_reuse_ct", "unique_bytes_d_reuse_ct",
          "lines_d_reuse_ct", "unique_lines_d_reuse_ct", "stride"})
      out.push_back("B" + std::to_string(i) + "." + name);
  for (size_t i = 0; i < kCurveSamples; ++i) out.push_back("arith_intensity_curve_" + std::to_string(i));
  for (const char* name : {"alloc_size", "alloc_prod", "alloc_outer_prod", "alloc_inner_prod", "outer_prod",
                           "num_loops", "auto_unroll_max_step"})
    out.emplace_back(name);
  return out;
}

namespace {

Bytes bytes_of_rows(const std::vector<std::vector<float>>& rows) {
  std::string out;
  for (const std::vector<float>& row : rows)
    out.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  return Bytes(std::move(out));
}

size_t buffers_of(int64_t given) {
  if (given < 1 || given > 1024) throw Error(ValueError) << "features are of 1 to 1024 buffers, not " << given;
  return static_cast<size_t>(given);
}

Globals feature_globals{
    {"auto_scheduler.FeatureNames",
     [](int64_t max_buffers) {
       Array<String> out;
       for (std::string& name : feature_names(buffers_of(max_buffers))) out.push_back(String(std::move(name)));
       return out;
     }},
    {"auto_scheduler.FeaturesOfStates",
     [](SearchTask task, Array<State> states, int64_t max_buffers) {
       const size_t most = buffers_of(max_buffers);
       std::vector<Bytes> rows(states.size());
       run_tasks(states.size(), compile_threads(),
                 [&](size_t i) { rows[i] = bytes_of_rows(features_of(task, states[i], most)); });
       return Array<Bytes>(rows.begin(), rows.end());
     }},
    {"auto_scheduler.FeaturesOfModules",
     [](const Array<IRModule>& modules, int64_t cache_line_bytes, int64_t max_buffers, bool log_scale) {
       const FeatureOptions options{static_cast<int>(cache_line_bytes), buffers_of(max_buffers), log_scale};
       std::vector<Bytes> rows(modules.size());
       run_tasks(modules.size(), compile_threads(),
                 [&](size_t i) { rows[i] = bytes_of_rows(features_of(modules[i], options)); });
       return Array<Bytes>(rows.begin(), rows.end());
     }},
    {"auto_scheduler.FeaturesOfPrimFunc",
     [](PrimFunc function, int64_t cache_line_bytes, int64_t max_buffers, bool log_scale) {
       return bytes_of_rows(
           features_of(function, {static_cast<int>(cache_line_bytes), buffers_of(max_buffers), log_scale}));
     }},
};

}  // namespace
}  // namespace tessera::auto_scheduler
