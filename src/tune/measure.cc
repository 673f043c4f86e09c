#include "tune/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/ndarray.h"

namespace tessera::tune {
namespace {

RunResult failed(MeasureError error, const std::string& message) { return {error, message, {}}; }

std::vector<double> times_of(const Bytes& bytes) {
  std::vector<double> out(bytes.str().size() / sizeof(double));
  std::memcpy(out.data(), bytes.str().data(), out.size() * sizeof(double));
  return out;
}

/// Tensors over there, of random values where none are given.
std::vector<Any> make_args(rpc::ClientSession& session, const std::vector<TensorSpec>& specs, DLDevice device) {
  PackedFunc fill = session.get_function("tvm.contrib.random.random_fill");
  bool is_host = device.device_type % kRpcSessionMask == kDLCPU;
  std::vector<Any> out;
  for (const TensorSpec& spec : specs) {
    NDArray tensor = NDArray::empty(spec.shape, spec.dtype, device);
    if (spec.value) tensor.copy_from(spec.value);
    else if (fill && is_host) fill(tensor);
    out.push_back(tensor);
  }
  return out;
}

/// True where both ask for random tensors of the same shapes and types.
bool are_alike(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TensorSpec& x, const TensorSpec& y) {
    return !x.value && !y.value && x.shape == y.shape && x.dtype == y.dtype;
  });
}

/// A first call that takes so long is as good a measurement as any: the candidate is far behind the best, and what a first call does
/// for the first time takes much less.
double first_call_that_counts(double best) {
  constexpr double kLeast = 0.01, kBehind = 3;
  return best > 0 ? std::max(kLeast, kBehind * best) : 0;
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

template <class T>
bool agree_as(const std::string& a, const std::string& b) {
  const auto *x = reinterpret_cast<const T*>(a.data()), *y = reinterpret_cast<const T*>(b.data());
  const size_t count = a.size() / sizeof(T);
  double most = 0;
  for (size_t i = 0; i < count; ++i)
    if (std::isfinite(x[i])) most = std::max(most, std::abs(static_cast<double>(x[i])));
  constexpr double kRelative = 1e-3, kAbsolute = 1e-6;
  for (size_t i = 0; i < count; ++i) {
    const bool are_finite = std::isfinite(x[i]) && std::isfinite(y[i]);
    if (are_finite ? std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])) > kRelative * most + kAbsolute
                   : std::isnan(x[i]) != std::isnan(y[i]))
      return false;
  }
  return true;
}

/// Sums may be added up in another order; those of 16 bits are not compared.
bool agree(const NDArray& a, const NDArray& b) {
  std::string x(a.bytes(), 0), y(b.bytes(), 0);
  a.copy_to_bytes(x.data(), x.size());
  b.copy_to_bytes(y.data(), y.size());
  if (a.dtype() == DataType::Float(32)) return agree_as<float>(x, y);
  if (a.dtype() == DataType::Float(64)) return agree_as<double>(x, y);
  return a.dtype().is_float() || a.dtype().bits == 16 || x == y;
}

}  // namespace

RunResult CandidateRunner::guarded(const RunOptions& options,
                                   const std::function<RunResult(const std::shared_ptr<rpc::ClientSession>&)>& act) {
  RunResult lost;
  for (int tries = 1 + retries(); tries > 0; --tries) {
    const std::shared_ptr<rpc::ClientSession> open = session();
    try {
      open->set_answer_timeout(options.timeout);
      return act(open);
    } catch (const Error& error) {
      if (!open->is_closed()) return failed(MeasureError::RuntimeDevice, error.what());
      shared_ = {};
      const std::string end = drop();
      if (error.kind() == rpc::RpcTimeoutError)
        return failed(MeasureError::RunTimeout, "it ran longer than " + to_text(options.timeout) + " s");
      lost = failed(MeasureError::RuntimeDevice, end.empty() ? error.what() : "its process ended with " + end);
    }
  }
  return lost;
}

CandidateRunner::Shared& CandidateRunner::shared_args(const std::shared_ptr<rpc::ClientSession>& session,
                                                      const std::vector<TensorSpec>& specs, DLDevice device) {
  if (shared_.session.lock() == session && shared_.device_type == device.device_type && are_alike(shared_.specs, specs))
    return shared_;
  shared_ = {};  // before there are others: both may not fit
  shared_ = {session, device.device_type, specs, make_args(*session, specs, device)};
  return shared_;
}

RunResult CandidateRunner::run(const std::string& path, const std::string& function,
                               const std::vector<TensorSpec>& specs, const RunOptions& options) {
  return guarded(options, [&](const std::shared_ptr<rpc::ClientSession>& open) -> RunResult {
    Module library = load(*open, path);
    DLDevice device = make_device(open->masked(options.device_type), 0);
    Shared& shared = shared_args(open, specs, device);
    PackedFunc measure = open->get_function("runtime.CandidateTimeEvaluator")(
                                 library, function, options.device_type, options.number, options.repeat,
                                 options.min_repeat_ms, first_call_that_counts(shared.best))
                             .to<PackedFunc>();
    RunResult out{MeasureError::None, "", times_of(call_with(measure, shared.args).to<Bytes>())};
    for (double seconds : out.seconds) shared.best = shared.best > 0 ? std::min(shared.best, seconds) : seconds;
    return out;
  });
}

RunResult CandidateRunner::compare(const std::string& first, const std::string& second, const std::string& function,
                                   const std::vector<TensorSpec>& specs, size_t inputs, const RunOptions& options) {
  return guarded(options, [&](const std::shared_ptr<rpc::ClientSession>& open) -> RunResult {
    DLDevice device = make_device(open->masked(options.device_type), 0);
    const std::vector<Any> args = make_args(*open, specs, device);
    std::vector<NDArray> results[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<Any> own = args;
      for (size_t i = inputs; i < specs.size(); ++i) own[i] = NDArray::empty(specs[i].shape, specs[i].dtype, device);
      call_with(load(*open, side ? second : first).get_function(function), own);
      for (size_t i = inputs; i < specs.size(); ++i) results[side].push_back(own[i].to<NDArray>().copy_to({kDLCPU, 0}));
    }
    for (size_t i = 0; i < results[0].size(); ++i)
      if (!agree(results[0][i], results[1][i]))
        return failed(MeasureError::WrongAnswer, "result " + std::to_string(i) + " is not that of the rule's own plan");
    return {};
  });
}

}  // namespace tessera::tune
