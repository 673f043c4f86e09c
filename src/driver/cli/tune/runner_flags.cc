#include "driver/cli/tune/runner_flags.h"

#include <CLI/CLI.hpp>

#include "base/json.h"
#include "driver/cli/python_process.h"
#include "driver/cli/runner.h"
#include "driver/tune_model.h"

namespace tessera::cli {
namespace {

constexpr int kPriority = 1;

/// Servers of a Ray cluster, behind a tracker that Python starts; they live as long as this.
class RayRunner : public tune::CandidateRunner {
 public:
  explicit RayRunner(std::unique_ptr<PythonProcess> process, std::unique_ptr<tune::CandidateRunner> servers)
      : process_(std::move(process)), servers_(std::move(servers)) {}
  tune::RunResult run(const std::string& path, const std::string& function, const std::vector<tune::TensorSpec>& args,
                      const tune::RunOptions& options) override {
    return servers_->run(path, function, args, options);
  }
  tune::RunResult compare(const std::string& first, const std::string& second, const std::string& function,
                          const std::vector<tune::TensorSpec>& args, size_t inputs,
                          const tune::RunOptions& options) override {
    return servers_->compare(first, second, function, args, inputs, options);
  }

 protected:
  std::shared_ptr<rpc::ClientSession> session() override { return nullptr; }
  Module load(rpc::ClientSession&, const std::string&) override { return {}; }
  std::string drop() override { return ""; }

 private:
  std::unique_ptr<PythonProcess> process_;
  std::unique_ptr<tune::CandidateRunner> servers_;
};

std::unique_ptr<tune::CandidateRunner> make_ray_runner() {
  auto process = std::make_unique<PythonProcess>(std::vector<std::string>{"-m", "tessera.exec.ray_workers"},
                                                 "a Ray cluster is asked");
  const std::string line = process->read_line();
  if (line.empty())
    throw Error(RuntimeError) << "the process that asks the Ray cluster (python -m tessera.exec.ray_workers) ended; "
                              << "TESSERA_PYTHON may name a Python that has Tessera and Ray";
  auto answer = downcast<Map<String, ObjectRef>>(parse_json(line));
  if (answer.count("error")) throw Error(RuntimeError) << "--runner ray: " << downcast<String>(answer["error"]);
  const auto port = static_cast<int>(Any::of_object(answer["port"].get()).to<int64_t>());
  return std::make_unique<RayRunner>(std::move(process),
                                     tune::make_rpc_runner(downcast<String>(answer["host"]).str(), port,
                                                           downcast<String>(answer["key"]).str(), kPriority));
}

}  // namespace

void RunnerFlags::add_to(CLI::App& command) {
  command
      .add_option("--runner", kind, "Where candidates run: local, rpc (servers of a tracker) or ray (a Ray cluster)")
      ->check(CLI::IsMember({"local", "rpc", "ray"}))
      ->capture_default_str();
  command.add_option("--rpc-tracker", tracker, "The tracker of --runner rpc, host[:port]");
  command.add_option("--rpc-key", key, "Under which the tracker lists the servers");
}

std::unique_ptr<tune::CandidateRunner> RunnerFlags::make() const {
  const bool is_rpc = kind == "rpc" || !tracker.empty();
  if (kind == "ray") return make_ray_runner();
  if (!is_rpc) return tune::make_local_runner(worker_program());
  if (tracker.empty() || key.empty())
    throw Error(ValueError) << "a device of another machine needs --rpc-tracker host:port and --rpc-key";
  const auto [host, port] = tracker_address(tracker);
  return tune::make_rpc_runner(host, port, key, kPriority);
}

}  // namespace tessera::cli
