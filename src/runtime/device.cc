#include "runtime/device.h"

namespace tessera {
namespace {

struct Name {
  std::string_view text;
  int type;
};

// The first name of a code is the one shown.
constexpr Name kNames[] = {
    {"cpu", 1},         {"cuda", 2},     {"cuda_host", 3}, {"opencl", 4}, {"aocl", 5},    {"sdaccel", 6},
    {"vulkan", 7},      {"metal", 8},    {"vpi", 9},       {"rocm", 10},  {"opengl", 11}, {"ext_dev", 12},
    {"micro_dev", 13},  {"hexagon", 14}, {"webgpu", 15},   {"llvm", 1},   {"stackvm", 1}, {"c", 1},
    {"test", 1},        {"hybrid", 1},   {"composite", 1}, {"nvptx", 2},  {"gpu", 2},     {"cl", 4},
    {"aocl_sw_emu", 5}, {"mtl", 8},
};

}  // namespace

std::string device_type_name(int type) {
  for (const Name& name : kNames)
    if (name.type == type) return std::string(name.text);
  return "device type " + std::to_string(type);
}

int find_device_type(std::string_view name) {
  for (const Name& known : kNames)
    if (known.text == name) return known.type;
  return -1;
}

std::string device_text(DLDevice device) {
  int type = device.device_type;
  std::string remote;
  if (type >= kRpcSessionMask) {
    remote = "remote[" + std::to_string(type / kRpcSessionMask - 1) + "]:";
    type %= kRpcSessionMask;
  }
  return remote + device_type_name(type) + "(" + std::to_string(device.device_id) + ")";
}

}  // namespace tessera
