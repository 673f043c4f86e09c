#include "ir/target/tags.h"

#include <map>
#include <mutex>

#include "base/any.h"
#include "base/json.h"

namespace tessera {
namespace {

/// GPUs by compute capability and registers per block; names are separated by blanks and stand under "nvidia/".
struct GpuRow {
  const char* arch;
  int registers;
  std::string_view names;
};

constexpr GpuRow kGpus[] = {
    {"sm_20", 32768,
     "geforce-gtx-465 geforce-gtx-470 geforce-gtx-480 geforce-gtx-480m geforce-gtx-570 geforce-gtx-580 "
     "geforce-gtx-590 quadro-plex-7000 tesla-c2050 tesla-c2070 tesla-c2075"},
    {"sm_21", 32768,
     "geforce-410m geforce-610m geforce-705m geforce-710m geforce-800m geforce-820m geforce-gt-415m "
     "geforce-gt-420m geforce-gt-430 geforce-gt-435m geforce-gt-440 geforce-gt-445m geforce-gt-520 "
     "geforce-gt-520m geforce-gt-520mx geforce-gt-525m geforce-gt-540m geforce-gt-550m geforce-gt-555m "
     "geforce-gt-610 geforce-gt-620 geforce-gt-620m geforce-gt-625m geforce-gt-630 geforce-gt-630m "
     "geforce-gt-635m geforce-gt-640-gddr3 geforce-gt-720m geforce-gt-730-ddr3,128bit geforce-gts-450 "
     "geforce-gtx-460 geforce-gtx-460m geforce-gtx-470m geforce-gtx-485m geforce-gtx-550-ti "
     "geforce-gtx-560-ti geforce-gtx-560m geforce-gtx-570m geforce-gtx-580m geforce-gtx-670m "
     "geforce-gtx-675m nvidia-nvs-310 nvidia-nvs-315 nvs-4200m nvs-5200m nvs-5400m"},
    {"sm_30", 65536,
     "geforce-gt-640m geforce-gt-640m-le geforce-gt-645m geforce-gt-650m geforce-gt-730m geforce-gt-735m "
     "geforce-gt-740 geforce-gt-740m geforce-gt-745m geforce-gt-750m geforce-gt-755m geforce-gtx-650 "
     "geforce-gtx-650-ti geforce-gtx-650-ti-boost geforce-gtx-660 geforce-gtx-660-ti geforce-gtx-660m "
     "geforce-gtx-670 geforce-gtx-670mx geforce-gtx-675mx geforce-gtx-680 geforce-gtx-680m "
     "geforce-gtx-680mx geforce-gtx-690 geforce-gtx-760 geforce-gtx-760m geforce-gtx-765m geforce-gtx-770 "
     "geforce-gtx-770m geforce-gtx-780m geforce-gtx-860m-sm-30 geforce-gtx-870m geforce-gtx-880m "
     "nvidia-nvs-510 quadro-410 quadro-k1100m quadro-k2000 quadro-k2000d quadro-k2100m quadro-k2200m "
     "quadro-k3100m quadro-k4000 quadro-k4100m quadro-k420 quadro-k4200 quadro-k4200m quadro-k5000 "
     "quadro-k500m quadro-k5100m quadro-k5200m quadro-k600 quadro-k6000m tesla-k10"},
    {"sm_35", 65536,
     "geforce-920m geforce-gt-640-gddr5 geforce-gt-705 geforce-gt-720 geforce-gt-730 geforce-gtx-780 "
     "geforce-gtx-780-ti geforce-gtx-titan geforce-gtx-titan-black geforce-gtx-titan-z quadro-k510m "
     "quadro-k5200 quadro-k6000 quadro-k610m tesla-k20 tesla-k40"},
    {"sm_37", 65536, "tesla-k80"},
    {"sm_50", 65536,
     "geforce-830m geforce-840m geforce-930m geforce-940m geforce-gtx-750 geforce-gtx-750-ti "
     "geforce-gtx-850m geforce-gtx-860m-sm-50 geforce-gtx-950m geforce-gtx-960m nvidia-nvs-810 "
     "quadro-k1200 quadro-k2200 quadro-k620 quadro-k620m quadro-m1000m quadro-m1200 quadro-m2000m "
     "quadro-m3000m quadro-m4000m quadro-m5000m quadro-m500m quadro-m520 quadro-m600m"},
    {"sm_52", 65536,
     "geforce-910m geforce-gtx-950 geforce-gtx-960 geforce-gtx-965m geforce-gtx-970 geforce-gtx-970m "
     "geforce-gtx-980 geforce-gtx-980-ti geforce-gtx-980m geforce-gtx-titan-x quadro-m2000 quadro-m2200 "
     "quadro-m4000 quadro-m5000 quadro-m5500m quadro-m6000 quadro-m6000-24gb quadro-m620 tesla-m40 "
     "tesla-m60"},
    {"sm_53", 32768, "jetson-nano jetson-tx1 tegra-x1"},
    {"sm_60", 65536, "quadro-gp100 tesla-p100"},
    {"sm_61", 65536,
     "geforce-gtx-1050 geforce-gtx-1060 geforce-gtx-1070 geforce-gtx-1070-ti geforce-gtx-1080 "
     "geforce-gtx-1080-ti nvidia-titan-x nvidia-titan-xp p520 p620 quadro-p1000 quadro-p2000 quadro-p2200 "
     "quadro-p3000 quadro-p3200 quadro-p400 quadro-p4000 quadro-p4200 quadro-p500 quadro-p5000 "
     "quadro-p5200 quadro-p600 quadro-p6000 quadro-p620 tesla-p4 tesla-p40"},
    {"sm_62", 32768, "jetson-tx2"},
    {"sm_70", 65536, "nvidia-titan-v nvidia-v100 quadro-gv100"},
    {"sm_75", 65536,
     "geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti nvidia-t4 nvidia-titan-rtx "
     "quadro-rtx-4000 quadro-rtx-5000 quadro-rtx-6000 quadro-rtx-8000 rtx-3000 rtx-4000 rtx-5000 t1000 "
     "t2000"},
    {"sm_80", 65536, "nvidia-a100"},
    {"sm_86", 65536, "geforce-rtx-3070 geforce-rtx-3080 geforce-rtx-3090"},
};

struct JsonRow {
  const char* name;
  const char* config;
};

constexpr JsonRow kOthers[] = {
    {"nvidia/gtx1080ti", R"({"kind": "cuda", "arch": "sm_61"})"},
    {"nvidia/jetson-agx-xavier",
     R"({"kind": "cuda", "arch": "sm_72", "max_shared_memory_per_block": 49152, "max_threads_per_block": 1024,
         "thread_warp_size": 32, "registers_per_block": 65536,
         "host": {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "carmel", "num-cores": 4}})"},
    {"raspberry-pi/4b-aarch64",
     R"({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "mattr": ["+neon"], "num-cores": 4,
         "host": {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "mattr": ["+neon"],
                  "num-cores": 4}})"},
    {"aws/cpu/c5.large", R"({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 1})"},
    {"aws/cpu/c5.xlarge", R"({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 2})"},
    {"aws/cpu/c5.2xlarge", R"({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 4})"},
    {"aws/cpu/c5.4xlarge", R"({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 8})"},
    {"aws/cpu/c5.9xlarge", R"({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 18})"},
    {"aws/cpu/c5.12xlarge", R"({"kind": "llvm", "mcpu": "cascadelake", "num-cores": 24})"},
    {"aws/cpu/c5.18xlarge", R"({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 36})"},
    {"aws/cpu/c5.24xlarge", R"({"kind": "llvm", "mcpu": "cascadelake", "num-cores": 48})"},
};

using Table = std::map<std::string, Map<String, ObjectRef>, std::less<>>;

ObjectRef number(int value) { return number_boxes.box_int(value); }

Table make_table() {
  Table table;
  for (const GpuRow& row : kGpus) {
    for (std::string_view rest = row.names; !rest.empty();) {
      std::string_view name = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (name.empty()) continue;
      table["nvidia/" + std::string(name)] = {{"kind", String("cuda")},
                                              {"arch", String(row.arch)},
                                              {"max_shared_memory_per_block", number(49152)},
                                              {"max_threads_per_block", number(1024)},
                                              {"thread_warp_size", number(32)},
                                              {"registers_per_block", number(row.registers)}};
    }
  }
  for (const JsonRow& row : kOthers)
    table[row.name] = Map<String, ObjectRef>(downcast<Ref<MapNode>>(parse_json(row.config)));
  return table;
}

std::mutex mutex;

Table& table() {
  static auto* instance = new Table(make_table());
  return *instance;
}

}  // namespace

Map<String, ObjectRef> find_target_tag(std::string_view name) {
  std::lock_guard lock(mutex);
  auto it = table().find(name);
  return it == table().end() ? Map<String, ObjectRef>(nullptr) : it->second;
}

std::vector<std::string> target_tags() {
  std::lock_guard lock(mutex);
  std::vector<std::string> names;
  for (const auto& [name, _] : table()) names.push_back(name);
  return names;
}

void register_target_tag(const String& name, Map<String, ObjectRef> config, bool override) {
  std::lock_guard lock(mutex);
  auto [it, added] = table().try_emplace(name.str(), config);
  if (!added && !override)
    throw Error(RuntimeError) << "the target tag \"" << name << "\" stands already for " << to_json(it->second)
                              << "; pass override=True to replace it";
  it->second = std::move(config);
}

}  // namespace tessera
