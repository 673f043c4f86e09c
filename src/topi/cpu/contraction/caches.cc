#include "topi/cpu/contraction/caches.h"

namespace tessera::topi {
namespace {

/// In kilobytes.
struct Row {
  std::string_view name;
  int l1, l2, l3;
};

// clang-format off
constexpr Row kRows[] = {
    {"nehalem", 32, 256, 8192}, {"westmere", 32, 256, 8192}, {"sandybridge", 32, 256, 8192},
    {"ivybridge", 32, 256, 8192}, {"haswell", 32, 256, 8192}, {"broadwell", 32, 256, 8192},
    {"skylake", 32, 256, 8192}, {"skylake-avx512", 32, 1024, 16384}, {"cascadelake", 32, 1024, 16384},
    {"cooperlake", 32, 1024, 16384}, {"icelake-client", 48, 512, 8192}, {"tigerlake", 48, 1280, 12288},
    {"rocketlake", 48, 512, 16384}, {"icelake-server", 48, 1280, 24576}, {"alderlake", 48, 1280, 30720},
    {"raptorlake", 48, 2048, 36864}, {"meteorlake", 48, 2048, 24576}, {"arrowlake", 48, 3072, 36864},
    {"lunarlake", 48, 2560, 12288}, {"sapphirerapids", 48, 2048, 32768}, {"emeraldrapids", 48, 2048, 65536},
    {"graniterapids", 48, 2048, 65536}, {"gracemont", 32, 512, 12288}, {"znver1", 32, 512, 8192},
    {"znver2", 32, 512, 16384}, {"znver3", 32, 512, 32768}, {"znver4", 32, 1024, 32768},
    {"znver5", 48, 1024, 32768},
    {"cortex-a35", 32, 128, 0}, {"cortex-a53", 32, 512, 0}, {"cortex-a55", 32, 128, 1024},
    {"cortex-a57", 32, 512, 0}, {"cortex-a72", 32, 1024, 0}, {"cortex-a73", 32, 256, 0},
    {"cortex-a75", 64, 256, 2048}, {"cortex-a76", 64, 512, 2048}, {"cortex-a77", 64, 512, 4096},
    {"cortex-a78", 64, 512, 4096}, {"cortex-a510", 32, 128, 4096}, {"cortex-a520", 32, 128, 4096},
    {"cortex-a710", 64, 512, 8192}, {"cortex-a715", 64, 512, 8192}, {"cortex-a720", 64, 512, 8192},
    {"cortex-x1", 64, 1024, 8192}, {"cortex-x2", 64, 1024, 8192}, {"cortex-x3", 64, 1024, 8192},
    {"cortex-x4", 64, 2048, 8192}, {"neoverse-n1", 64, 1024, 32768}, {"neoverse-n2", 64, 1024, 32768},
    {"neoverse-v1", 64, 1024, 32768}, {"neoverse-v2", 64, 2048, 36864}, {"neoverse-512tvb", 64, 1024, 32768},
    {"a64fx", 64, 640, 0}, {"ampere1", 64, 2048, 65536}, {"ampere1a", 64, 2048, 65536},
    {"tsv110", 64, 512, 32768}, {"thunderx2t99", 32, 256, 28672}, {"carmel", 64, 1024, 4096},
    {"apple-a12", 128, 2048, 8192}, {"apple-a13", 128, 2048, 16384}, {"apple-a14", 128, 4096, 16384},
    {"apple-m1", 128, 4096, 8192}, {"apple-m2", 128, 4096, 8192}, {"apple-m3", 128, 4096, 8192},
    {"apple-m4", 128, 4096, 8192},
};
// clang-format on

}  // namespace

std::optional<Caches> known_caches(std::string_view cpu) {
  for (const Row& row : kRows)
    if (row.name == cpu) return Caches{row.l1 * kKilo, row.l2 * kKilo, row.l3 * kKilo};
  return {};
}

}  // namespace tessera::topi
