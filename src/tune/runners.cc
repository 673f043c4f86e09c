// Where candidates run: a worker process of this machine, or servers of a tracker.

#include "runtime/archive/files.h"
#include "runtime/rpc/client_session.h"
#include "runtime/rpc/tracker.h"
#include "tune/measure.h"

namespace tessera::tune {
namespace {

class LocalCandidateRunner : public CandidateRunner {
 public:
  explicit LocalCandidateRunner(std::string program) : program_(std::move(program)) {}

 protected:
  std::shared_ptr<rpc::ClientSession> session() override {
    if (!worker_) worker_ = std::make_unique<rpc::WorkerProcess>(std::vector{program_});
    return worker_->session();
  }
  Module load(rpc::ClientSession& session, const std::string& path) override {
    return session.get_function("runtime.ModuleLoadFromFile")(path, std::string()).to<Module>();
  }
  std::string drop() override {
    std::string end = worker_ ? worker_->end() : "";
    worker_.reset();
    return end;
  }

 private:
  std::string program_;
  std::unique_ptr<rpc::WorkerProcess> worker_;
};

class RpcCandidateRunner : public CandidateRunner {
 public:
  RpcCandidateRunner(std::string host, int port, std::string key, int priority)
      : host_(std::move(host)), key_(std::move(key)), port_(port), priority_(priority) {}

 protected:
  std::shared_ptr<rpc::ClientSession> session() override {
    if (!session_) session_ = rpc::request_session(host_, port_, key_, priority_);
    return session_;
  }
  Module load(rpc::ClientSession& session, const std::string& path) override {
    std::string name = path.substr(path.rfind('/') + 1);
    Bytes contents(std::string(MappedFile(path, "the candidate").bytes()));
    session.get_function("tvm.rpc.server.upload")(name, contents);
    auto library = session.get_function("tvm.rpc.server.load_module")(name).to<Module>();
    session.get_function("tvm.rpc.server.remove")(name);
    return library;
  }
  std::string drop() override {
    session_.reset();
    return "";
  }
  int retries() const override { return 1; }

 private:
  std::string host_, key_;
  int port_, priority_;
  std::shared_ptr<rpc::ClientSession> session_;
};

}  // namespace

std::unique_ptr<CandidateRunner> make_local_runner(const std::string& program) {
  return std::make_unique<LocalCandidateRunner>(program);
}

std::unique_ptr<CandidateRunner> make_rpc_runner(const std::string& host, int port, const std::string& key,
                                                 int priority) {
  return std::make_unique<RpcCandidateRunner>(host, port, key, priority);
}

}  // namespace tessera::tune
