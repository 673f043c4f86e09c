#include "kernel/cached_kernels.h"

#include <charconv>

#include "codegen/kernel_cache.h"
#include "ir/json/json.h"

namespace tessera::kernel {
namespace {

std::string full_key(const std::string& key, bool overlaps) { return key + (overlaps ? "\noverlaps" : "\napart"); }

/// The rule, pairs of numbers, an empty line, the machine code.
std::string to_bytes(const CachedKernel& kernel) {
  std::string out = kernel.rule + "\n";
  for (InPlace pair : kernel.in_place) out += std::to_string(pair.input) + " " + std::to_string(pair.output) + "\n";
  return out + "\n" + kernel.unit;
}

std::optional<CachedKernel> from_bytes(const std::string& bytes) {
  CachedKernel out;
  out.rule = bytes.substr(0, bytes.find('\n'));
  const char *at = bytes.data() + std::min(bytes.size(), out.rule.size() + 1), *end = bytes.data() + bytes.size();
  while (at < end && *at != '\n') {
    InPlace pair{};
    auto first = std::from_chars(at, end, pair.input);
    if (first.ec != std::errc() || first.ptr == end) return std::nullopt;
    auto second = std::from_chars(first.ptr + 1, end, pair.output);
    if (second.ec != std::errc() || second.ptr == end) return std::nullopt;
    out.in_place.push_back(pair);
    at = second.ptr + 1;
  }
  if (at == end) return std::nullopt;
  out.unit.assign(at + 1, end);
  return out;
}

}  // namespace

CachedKernels::CachedKernels(const CompileEnvironment& environment) {
  const Target &target = environment.target, &host = environment.host;
  if (!environment.machine || !host || host.str() != target.without_host().str()) return;
  if (!codegen::KernelCache::get().is_on()) return;
  if (std::optional<std::string> key = environment.key()) common_ = "kernel\n" + *key;
}

std::string CachedKernels::key_of(const relay::Function& primitive, const std::string& symbol) const {
  return common_ + symbol + "\n" + save_json(primitive, Spans::LeaveOut);
}

std::optional<CachedKernel> CachedKernels::find(const std::string& key, bool overlaps) {
  std::optional<std::string> bytes = codegen::KernelCache::get().find(full_key(key, overlaps));
  return bytes ? from_bytes(*bytes) : std::nullopt;
}

void CachedKernels::add(const std::string& key, bool overlaps, const CachedKernel& kernel) {
  codegen::KernelCache::get().add(full_key(key, overlaps), to_bytes(kernel));
  if (overlaps) codegen::KernelCache::get().add(full_key(key, false), to_bytes({kernel.rule, kernel.in_place, ""}));
}

}  // namespace tessera::kernel
