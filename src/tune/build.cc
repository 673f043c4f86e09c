#include "tune/build.h"

#include <chrono>
#include <cstdio>

#include "base/run_tasks.h"

namespace tessera::tune {
namespace {

constexpr double kStart = 60;  // seconds that a process may take until it answers at all

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

size_t threads_for(size_t threads) { return threads ? threads : compile_threads(); }

}  // namespace

BuildProcesses::BuildProcesses(std::vector<std::string> words, std::string builder)
    : words_(std::move(words)), builder_(std::move(builder)) {}

std::unique_ptr<rpc::WorkerProcess> BuildProcesses::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto out = std::move(idle_.back());
      idle_.pop_back();
      return out;
    }
  }
  auto out = std::make_unique<rpc::WorkerProcess>(words_);
  out->session()->set_answer_timeout(kStart);
  if (!out->session()->get_function(builder_))
    throw Error(RuntimeError) << words_[0] << " cannot build candidates: it has no function " << builder_;
  return out;
}

void BuildProcesses::give_back(std::unique_ptr<rpc::WorkerProcess> process) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(process));
}

BuildResult BuildProcesses::build_one(const BuildOrder& order, double timeout) {
  std::unique_ptr<rpc::WorkerProcess> process;
  try {
    const std::string text = order.text();
    process = take();
    rpc::ClientSession& session = *process->session();
    session.set_answer_timeout(timeout);
    const auto problem = session.get_function(builder_)(text, order.path).to<std::string>();
    give_back(std::move(process));
    if (!problem.empty()) return {MeasureError::CompileHost, problem};
    return {};
  } catch (const Error& error) {
    std::remove(order.path.c_str());  // half of a library
    if (!process || !process->session()->is_closed()) return {MeasureError::CompileHost, error.message()};
    const std::string end = process->end();
    if (error.kind() == rpc::RpcTimeoutError)
      return {MeasureError::BuildTimeout, "building it takes longer than " + to_text(timeout) + " s"};
    return {MeasureError::CompileHost, "the process that built it ended with " + end, 0, true};
  } catch (const std::exception& error) {
    return {MeasureError::CompileHost, error.what()};
  }
}

std::vector<BuildResult> BuildProcesses::build(const std::vector<BuildOrder>& orders, size_t threads, double timeout) {
  std::vector<BuildResult> out(orders.size());
  run_tasks(orders.size(), threads_for(threads), [&](size_t i) {
    const auto begin = std::chrono::steady_clock::now();
    out[i] = build_one(orders[i], timeout);
    out[i].seconds = seconds_since(begin);
  });
  return out;
}

std::vector<BuildResult> build_here(size_t count, size_t threads, const std::function<void(size_t)>& build) {
  std::vector<BuildResult> out(count);
  run_tasks(count, threads_for(threads), [&](size_t i) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      build(i);
    } catch (const std::exception& error) {
      const std::string message = error.what();
      out[i] = {MeasureError::CompileHost, message.empty() ? "it cannot be built" : message};
    }
    out[i].seconds = seconds_since(begin);
  });
  return out;
}

}  // namespace tessera::tune
