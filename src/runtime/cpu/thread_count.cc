#include "runtime/cpu/thread_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace tessera {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<int> affinity_mask() {
  constexpr int kMaxCpus = 8192;
  std::vector<int> cpus;
  cpu_set_t* mask = CPU_ALLOC(kMaxCpus);
  size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(bytes, mask);
  if (sched_getaffinity(0, bytes, mask) == 0)
    for (int i = 0; i < kMaxCpus; ++i)
      if (CPU_ISSET_S(static_cast<size_t>(i), bytes, mask)) cpus.push_back(i);
  CPU_FREE(mask);
  if (cpus.empty())
    for (int i = 0; i < std::max(1, static_cast<int>(std::thread::hardware_concurrency())); ++i) cpus.push_back(i);
  return cpus;
}

/// How many of `cpus` are the first allowed one of their core; these come first.
size_t cores_first(std::vector<int>& cpus) {
  std::set<std::string> cores;
  auto is_first_of_core = [&](int cpu) {
    std::string siblings =
        first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    return siblings.empty() || cores.insert(siblings).second;
  };
  auto rest = std::stable_partition(cpus.begin(), cpus.end(), is_first_of_core);
  return static_cast<size_t>(rest - cpus.begin());
}

/// "max 100000" or "150000 100000": CPUs' worth of time; 0 when there is no limit.
double quota_of(const std::string& quota, const std::string& period) {
  double time = std::strtod(quota.c_str(), nullptr), each = std::strtod(period.c_str(), nullptr);
  return time > 0 && each > 0 ? time / each : 0;
}

/// The tightest limit on CPU time from the process's control group up to the root; 0 when there is none.
double cgroup_quota() {
  double limit = 0;
  auto tighten = [&](double quota) {
    if (quota > 0 && (limit == 0 || quota < limit)) limit = quota;
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string path = line.substr(3);; path.resize(path.rfind('/'))) {
      std::string text = first_line("/sys/fs/cgroup" + path + "/cpu.max");
      if (size_t space = text.find(' '); space != text.npos)
        tighten(quota_of(text.substr(0, space), text.substr(space + 1)));
      if (path.rfind('/') == path.npos) break;
    }
  }
  tighten(
      quota_of(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")));
  return limit;
}

}  // namespace

int number_from_environment(const char* name, int lowest, int otherwise) {
  const char* text = std::getenv(name);
  if (!text) return otherwise;
  int value = 0;
  auto [end, status] = std::from_chars(text, text + std::strlen(text), value);
  return status == std::errc() && *end == 0 && value >= lowest ? value : otherwise;
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus = affinity_mask();
  cores_first(cpus);
  return cpus;
}

int default_thread_count() {
  int asked = number_from_environment("TVM_NUM_THREADS", 1, number_from_environment("OMP_NUM_THREADS", 1, 0));
  if (asked > 0) return std::min(asked, kMaxThreads);
  std::vector<int> cpus = affinity_mask();
  int count = static_cast<int>(cores_first(cpus));
  if (double quota = cgroup_quota(); quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::clamp(count, 1, kMaxThreads);
}

}  // namespace tessera
