// tessera doctor: what this machine has, and what is missing.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "codegen/kernel_cache.h"
#include "codegen/llvm/host.h"
#include "driver/cli/cli.h"
#include "driver/cli/json.h"
#include "runtime/api_version.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device_api.h"

namespace tessera::cli {
namespace {

void row(const char* name, const std::string& text) { fmt::print("{:<10}{}\n", name, text); }

/// The names of all devices of a kind.
std::vector<std::string> devices(DLDeviceType type) {
  DeviceAPI* api = find_device_api(type);
  std::vector<std::string> out;
  for (int id = 0; api && id < 16; ++id) {
    DLDevice device{type, id};
    if (api->get_attr(device, DeviceAttr::Exist).to<int64_t>() == 0) break;
    out.push_back(api->get_attr(device, DeviceAttr::DeviceName).to<std::string>());
  }
  return out;
}

std::string devices_text(DLDeviceType type, const char* missing) {
  std::vector<std::string> names = devices(type);
  return names.empty() ? missing : fmt::format("{}", fmt::join(names, ", "));
}

void print_report() {
  codegen::KernelCache::Info cache = codegen::KernelCache::get().info();
  row("tessera", fmt::format("{} (build {})", TESSERA_VERSION, codegen::compiler_build_id().substr(0, 12)));
  row("llvm", std::to_string(codegen::llvm_version()));
  row("cpu", fmt::format("{}, {}", codegen::host_cpu(), codegen::host_triple()));
  row("threads", std::to_string(num_threads()));
  row("cuda", devices_text(kDLCUDA, "no device: needs an NVIDIA driver (libcuda.so.1)"));
  row("opencl", devices_text(kDLOpenCL, "no device: needs an OpenCL loader (libOpenCL.so.1) and a driver"));
  row("cache", cache.off_because.empty()
                   ? fmt::format("{}: {} kernels, {}", cache.folder, cache.entries, bytes_text(cache.bytes))
                   : "off: " + cache.off_because);
}

void print_report_json() {
  const std::string triple = codegen::host_triple();
  std::vector<std::string> features;
  for (const CpuFeature& feature : checked_cpu_features(triple.substr(0, triple.find('-'))))
    if (cpu_has(feature.name)) features.emplace_back(feature.name);
  fmt::print("{}\n", to_json(JsonObject{{"tessera", String(TESSERA_VERSION)},
                                        {"api", String(kApiVersion)},
                                        {"build", String(codegen::compiler_build_id())},
                                        {"llvm", json_value(codegen::llvm_version())},
                                        {"cpu", JsonObject{{"name", String(codegen::host_cpu())},
                                                           {"triple", String(triple)},
                                                           {"features", json_list(features)}}},
                                        {"threads", json_value(num_threads())},
                                        {"cuda", json_list(devices(kDLCUDA))},
                                        {"opencl", json_list(devices(kDLOpenCL))},
                                        {"cache", cache_facts()}}));
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* doctor = app.add_subcommand("doctor", "What this machine has, and what is missing");
  doctor->add_flag("--json", *json, "Print one JSON object");
  doctor->callback([json] { *json ? print_report_json() : print_report(); });
}

}  // namespace tessera::cli
