// tessera doctor: what this machine has, and what is missing.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "codegen/kernel_cache.h"
#include "driver/cli/cli.h"
#include "runtime/device_api.h"
#include "runtime/registry.h"
#include "runtime/thread_pool.h"

namespace tessera::cli {
namespace {

void row(const char* name, const std::string& text) { fmt::print("{:<10}{}\n", name, text); }

std::string text_of(const char* global) { return get_global(global)().to<std::string>(); }

std::string describe(DLDeviceType type, const char* missing) {
  DeviceAPI* api = find_device_api(type);
  std::string out;
  for (int id = 0; api && id < 16; ++id) {
    DLDevice device{type, id};
    if (api->get_attr(device, DeviceAttr::Exist).to<int64_t>() == 0) break;
    out += (out.empty() ? "" : ", ") + api->get_attr(device, DeviceAttr::DeviceName).to<std::string>();
  }
  return out.empty() ? missing : out;
}

void show() {
  codegen::KernelCache::Info cache = codegen::KernelCache::get().info();
  row("tessera", fmt::format("{} (build {})", TESSERA_VERSION, codegen::compiler_build_id().substr(0, 12)));
  row("llvm", std::to_string(get_global("target.llvm_version_major")().to<int64_t>()));
  row("cpu", fmt::format("{}, {}", text_of("target.llvm_host_cpu"), text_of("target.llvm_default_triple")));
  row("threads", std::to_string(num_threads()));
  row("cuda", describe(kDLCUDA, "no device: needs an NVIDIA driver (libcuda.so.1)"));
  row("opencl", describe(kDLOpenCL, "no device: needs an OpenCL loader (libOpenCL.so.1) and a driver"));
  row("cache", cache.off_because.empty()
                   ? fmt::format("{}: {} kernels, {}", cache.folder, cache.entries, bytes_text(cache.bytes))
                   : "off: " + cache.off_because);
}

}  // namespace

void add_doctor(CLI::App& app) {
  app.add_subcommand("doctor", "What this machine has, and what is missing")->callback(show);
}

}  // namespace tessera::cli
