// tessera-rpc-server: an RPC server that needs the runtime alone, for machines without a compiler; with two numbers instead of
// flags (but for --load-library) it is the worker of a WorkerProcess, which serves one session on a socket that it inherits.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/rpc/server.h"
#include "runtime/rpc/worker.h"

using namespace tessera;

namespace {

constexpr const char* kUsage =
    "tessera-rpc-server [--host 127.0.0.1] [--port 9090] [--port-end 9199] [--key KEY] [--tracker HOST:PORT]\n"
    "                   [--custom-addr HOST] [--load-library A.so:B.so] [--through-proxy] [--no-fork] [--silent]\n"
    "Lets clients that know the key, and TESSERA_RPC_SECRET where it is set, run programs on this machine.\n";

int number(const char* flag, const std::string& text) {
  char* end = nullptr;
  long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end || value < 0 || value > 65536)
    throw Error(ValueError) << flag << " is a number of a port, not \"" << text << "\"";
  return static_cast<int>(value);
}

bool is_number(const char* word) { return *word && std::strspn(word, "0123456789") == std::strlen(word); }

void load_libraries(const std::string& paths) {
  for (size_t begin = 0; begin < paths.size();) {
    size_t end = std::min(paths.find(':', begin), paths.size());
    std::string path = paths.substr(begin, end - begin);
    if (!path.empty() && !dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
      throw Error(FileError) << "cannot load " << path << ": " << dlerror();
    begin = end + 1;
  }
}

void set_tracker(rpc::ServerOptions& options, const std::string& address) {
  size_t colon = address.rfind(':');
  if (colon == address.npos || colon == 0)
    throw Error(ValueError) << "--tracker is host:port, not \"" << address << "\"";
  options.tracker_host = address.substr(0, colon);
  options.tracker_port = number("--tracker", address.substr(colon + 1));
}

rpc::ServerOptions parse(int argc, char** argv) {
  rpc::ServerOptions options;
  options.listen.port = 9090;
  options.listen.port_end = 9199;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--through-proxy") options.through_proxy = true;
    else if (flag == "--no-fork") options.forks = false;
    else if (flag == "--silent") options.is_silent = true;
    else if (i + 1 == argc) throw Error(ValueError) << flag << " is no flag, or lacks its value\n" << kUsage;
    else if (std::string value = argv[++i]; flag == "--host") options.listen.host = value;
    else if (flag == "--port") options.listen.port = number("--port", value);
    else if (flag == "--port-end") options.listen.port_end = number("--port-end", value);
    else if (flag == "--key") options.key = value;
    else if (flag == "--tracker") set_tracker(options, value);
    else if (flag == "--custom-addr") options.custom_addr = value;
    else if (flag == "--load-library") load_libraries(value);
    else throw Error(ValueError) << flag << " is no flag\n" << kUsage;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool loads = argc == 5 && std::string_view(argv[1]) == "--load-library";
    if ((argc == 3 || loads) && is_number(argv[argc - 2])) {
      if (loads) load_libraries(argv[2]);
      rpc::serve_worker(std::atoi(argv[argc - 2]));
      return 0;
    }
    if (argc > 1 && std::string_view(argv[1]) == "--help") return std::fputs(kUsage, stdout), 0;
    rpc::ServerOptions options = parse(argc, argv);
    rpc::run_server(options,
                    [&](int port) { std::fprintf(stderr, "rpc-server: %s:%d\n", options.listen.host.c_str(), port); });
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "Error: %s\n", error.message().c_str());
    return error.kind() == ValueError ? 2 : 4;
  }
}
