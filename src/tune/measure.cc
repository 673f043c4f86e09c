#include "tune/measure.h"

#include <cstring>

#include "base/run_tasks.h"
#include "runtime/ndarray.h"

namespace tessera::tune {
namespace {

RunResult failed(MeasureError error, const std::string& message) { return {error, message, {}}; }

std::vector<double> times_of(const Bytes& bytes) {
  std::vector<double> out(bytes.str().size() / sizeof(double));
  std::memcpy(out.data(), bytes.str().data(), out.size() * sizeof(double));
  return out;
}

/// Tensors of random values over there.
std::vector<Any> make_args(rpc::ClientSession& session, const std::vector<TensorSpec>& specs, DLDevice device) {
  PackedFunc fill = session.get_function("tvm.contrib.random.random_fill");
  bool is_host = device.device_type % kRpcSessionMask == kDLCPU;
  std::vector<Any> out;
  for (const TensorSpec& spec : specs) {
    NDArray tensor = NDArray::empty(spec.shape, spec.dtype, device);
    if (fill && is_host) fill(tensor);
    out.push_back(tensor);
  }
  return out;
}

Any call_with(const PackedFunc& function, const std::vector<Any>& args) {
  std::vector<TesseraValue> values;
  std::vector<int> codes;
  for (const Any& each : args) {
    values.push_back(each.raw());
    codes.push_back(each.code());
  }
  Any result;
  function.call_packed({values.data(), codes.data(), static_cast<int>(args.size())}, &result);
  return result;
}

}  // namespace

std::vector<std::string> build_candidates(const std::vector<IRModule>& lowered, const std::vector<std::string>& paths,
                                          const BuildFunction& build, size_t threads) {
  ICHECK(lowered.size() == paths.size()) << "each candidate has a file";
  std::vector<std::string> problems(lowered.size());
  run_tasks(lowered.size(), threads ? threads : compile_threads(), [&](size_t i) {
    try {
      build(lowered[i], paths[i]);
    } catch (const std::exception& error) {
      problems[i] = error.what();
      if (problems[i].empty()) problems[i] = "it cannot be built";
    }
  });
  return problems;
}

RunResult CandidateRunner::run(const std::string& path, const std::string& function,
                               const std::vector<TensorSpec>& specs, const RunOptions& options) {
  std::shared_ptr<rpc::ClientSession> open;
  try {
    open = session();
    open->set_answer_timeout(options.timeout);
    Module library = load(*open, path);
    DLDevice device = make_device(open->masked(options.device_type), 0);
    std::vector<Any> args = make_args(*open, specs, device);
    PackedFunc measure =
        open->get_function("runtime.RPCTimeEvaluator")(library, function, options.device_type, 0, options.number,
                                                       options.repeat, options.min_repeat_ms, 100, 0, 1, std::string())
            .to<PackedFunc>();
    return {MeasureError::None, "", times_of(call_with(measure, args).to<Bytes>())};
  } catch (const Error& error) {
    if (open && !open->is_closed()) return failed(MeasureError::RuntimeDevice, error.what());
    std::string end = drop();
    if (error.kind() == rpc::RpcTimeoutError)
      return failed(MeasureError::RunTimeout, "it ran longer than " + to_text(options.timeout) + " s");
    return failed(MeasureError::RuntimeDevice, end.empty() ? error.what() : "its process ended with " + end);
  }
}

}  // namespace tessera::tune
