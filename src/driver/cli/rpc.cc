// tessera rpc-server, rpc-tracker, rpc-proxy: programs of this machine for clients of others.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "driver/cli/cli.h"
#include "runtime/module/module.h"
#include "runtime/rpc/server.h"

namespace tessera::cli {
namespace {

struct RpcFlags {
  rpc::ServerOptions server;
  std::string tracker;
};

void add_listen_flags(CLI::App& command, rpc::ListenOptions& listen, int port) {
  listen.port = port;
  listen.port_end = 9199;
  command.add_option("--host", listen.host, "Where to listen; beyond this machine TESSERA_RPC_SECRET must be set")
      ->capture_default_str();
  command.add_option("--port", listen.port, "The first port to try")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--port-end", listen.port_end, "The port behind the last to try")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str();
}

std::function<void(int)> announce(const char* name, const std::string& host) {
  return [=](int port) { fmt::print(stderr, "{}: {}:{}\n", name, host, port); };
}

void set_tracker(rpc::ServerOptions& options, const std::string& address) {
  size_t colon = address.rfind(':');
  std::string port = colon == address.npos ? "" : address.substr(colon + 1);
  if (colon == 0 || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos)
    throw Error(ValueError) << "--tracker is host:port, not \"" << address << "\"";
  if (options.key.empty()) throw Error(ValueError) << "a server of a tracker needs a --key";
  options.tracker_host = address.substr(0, colon);
  options.tracker_port = std::stoi(port);
}

}  // namespace

void add_rpc(CLI::App& app) {
  auto flags = std::make_shared<RpcFlags>();
  CLI::App* server = app.add_subcommand("rpc-server", "Let clients run compiled programs on this machine");
  add_listen_flags(*server, flags->server.listen, 9090);
  server->add_option("--key", flags->server.key,
                     "Which clients are served, and under what a tracker lists this server");
  server->add_option("--tracker", flags->tracker, "The tracker that lists this server, host:port");
  server->add_option("--custom-addr", flags->server.custom_addr, "The address that the tracker tells clients");
  server->add_flag("--through-proxy", flags->server.through_proxy, "Wait at the proxy of --host and --port");
  server->add_flag("--no-fork{false}", flags->server.forks, "Sessions one after another, in this process");
  server->add_flag("--silent", flags->server.is_silent, "Say nothing of sessions");
  server->callback([flags] {
    if (!flags->tracker.empty()) set_tracker(flags->server, flags->tracker);
    rpc::run_server(flags->server, announce("rpc-server", flags->server.listen.host));
  });

  auto listen = std::make_shared<rpc::ListenOptions>();
  CLI::App* tracker = app.add_subcommand("rpc-tracker", "List RPC servers, and give each to one client at a time");
  add_listen_flags(*tracker, *listen, 9190);
  tracker->callback([listen] { rpc::run_tracker(*listen, announce("rpc-tracker", listen->host)); });

  auto proxy_options = std::make_shared<rpc::ProxyOptions>();
  CLI::App* proxy = app.add_subcommand("rpc-proxy", "Pass clients on to RPC servers that cannot be reached");
  add_listen_flags(*proxy, proxy_options->listen, 9090);
  proxy->callback(
      [proxy_options] { rpc::run_proxy(*proxy_options, announce("rpc-proxy", proxy_options->listen.host)); });
}

}  // namespace tessera::cli
