#pragma once
// How many threads a parallel region should use on this machine, and on which CPUs.

#include <vector>

namespace tessera {

/// No pool has more.
inline constexpr int kMaxThreads = 1024;

/// CPUs the process may run on, one for each physical core first, then their siblings.
std::vector<int> allowed_cpus();

/// TVM_NUM_THREADS, else OMP_NUM_THREADS, else the physical cores the process may use: its affinity mask and its
/// share of CPU time (cgroup quota) both limit them. At least 1.
int default_thread_count();

/// The value of an environment variable that holds a number of at least `lowest`; `otherwise` in any other case.
int number_from_environment(const char* name, int lowest, int otherwise);

}  // namespace tessera
