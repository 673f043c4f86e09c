// What other languages call: sessions, servers, trackers, proxies.

#include "runtime/registry.h"
#include "runtime/rpc/client_session.h"
#include "runtime/rpc/server.h"
#include "runtime/rpc/worker.h"

namespace tessera::rpc {
namespace {

ClientSession& session_in(const Module& module) {
  RemoteModule* remote = as_remote(module);
  if (!remote) throw Error(TypeError) << "this is no RPC session, but a module of type " << module->type_key();
  return *remote->object().session;
}

/// A session with a process, which ends with it.
class PipeSession : public RemoteModule {
 public:
  explicit PipeSession(std::unique_ptr<WorkerProcess> worker)
      : RemoteModule(std::make_shared<RemoteObject>(worker->session(), 0)), worker_(std::move(worker)) {}

 private:
  std::unique_ptr<WorkerProcess> worker_;
};

class TrackerModule : public ModuleBody {
 public:
  TrackerModule(const std::string& host, int port) : client_(host, port) {}
  std::string type_key() const override { return "rpc_tracker"; }
  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name != "call") return nullptr;
    return typed("call", [this, self](std::string message, double seconds) {
      return client_.call(message, seconds > 0 ? after(seconds) : std::nullopt);
    });
  }

 private:
  TrackerClient client_;
};

std::function<void(int)> ready(const PackedFunc& function) {
  return [function](int port) {
    if (function) function(port);
  };
}

void serve(std::string host, int port, int port_end, std::string key, std::string tracker_host, int tracker_port,
           std::string custom_addr, bool through_proxy, bool is_silent, int watched, PackedFunc on_ready,
           PackedFunc fork, bool forks) {
  ServerOptions options;
  options.listen = {host, port, port_end, watched};
  options.key = key;
  options.tracker_host = tracker_host;
  options.tracker_port = tracker_port;
  options.custom_addr = custom_addr;
  options.through_proxy = through_proxy;
  options.is_silent = is_silent;
  options.forks = forks;
  if (fork) options.fork = [fork] { return fork().to<int>(); };
  run_server(options, ready(on_ready));
}

Globals rpc_globals{
    {"rpc.Connect",
     [](std::string host, int port, std::string key, int64_t timeout) {
       return session_module(connect(host, port, key, static_cast<uint32_t>(std::clamp<int64_t>(timeout, 0, 1 << 30))));
     }},
    {"rpc.Spawn",
     [](Array<String> words) {
       std::vector<std::string> command;
       for (const String& word : words) command.push_back(word.str());
       return make_module<PipeSession>(std::make_unique<WorkerProcess>(command));
     }},
    {"rpc.ServePipe", [](int fd) { serve_worker(fd); }},
    {"rpc.SessTableIndex", [](Module session) { return session_in(session).index(); }},
    {"rpc.SetAnswerTimeout", [](Module session, double seconds) { session_in(session).set_answer_timeout(seconds); }},
    {"rpc.Close", [](Module session) { session_in(session).close(); }},
    {"rpc.ImportRemoteModule",
     [](Module parent, Module child) {
       session_in(parent).get_function("tvm.rpc.server.ImportModule")(parent, child);
     }},
    {"rpc.TrackerConnect", [](std::string host, int port) { return make_module<TrackerModule>(host, port); }},
    {"rpc.Serve", serve},
    {"rpc.Track", [](std::string host, int port, int port_end, int watched,
                     PackedFunc on_ready) { run_tracker({host, port, port_end, watched}, ready(on_ready)); }},
    {"rpc.Proxy",
     [](std::string host, int port, int port_end, double client_timeout, double server_timeout, int watched,
        PackedFunc on_ready) {
       run_proxy({{host, port, port_end, watched}, client_timeout, server_timeout}, ready(on_ready));
     }},
};

}  // namespace
}  // namespace tessera::rpc
