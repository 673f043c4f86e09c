#include "driver/cli/bench/memory.h"

#include <fstream>
#include <string>

namespace tessera::cli {

uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (uint64_t kilobytes; word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  return 0;
}

void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }  // see proc(5)

}  // namespace tessera::cli
