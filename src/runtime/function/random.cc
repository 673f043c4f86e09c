// Random numbers for compiled code, of one generator for each thread; `seed` starts those of the calling thread anew.

#include <random>

#include "runtime/function/element.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

std::mt19937_64& generator() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine;
}

/// Calls `write(address)` for each element of a tensor of the host.
template <typename F>
void for_each_element(DLTensor* out, const char* name, F&& write) {
  if (out->device.device_type != kDLCPU || !is_contiguous(out))
    throw Error(ValueError) << name << ": a contiguous tensor in host memory is needed";
  int64_t count = 1;
  for (int i = 0; i < out->ndim; ++i) count *= out->shape[i];
  auto* at = static_cast<char*>(data_of(out));
  for (int64_t i = 0; i < count; ++i, at += DataType(out->dtype).bytes()) write(at);
}

void fill_floats(DLTensor* out, const char* name, auto distribution) {
  DataType dtype(out->dtype);
  for_each_element(out, name, [&](void* at) { write_float(dtype, distribution(generator()), at); });
}

void fill_integers(int64_t low, int64_t high, DLTensor* out) {
  if (low >= high) throw Error(ValueError) << "randint: no integer lies from " << low << " to below " << high;
  DataType dtype(out->dtype);
  std::uniform_int_distribution<int64_t> distribution(low, high - 1);
  for_each_element(out, "randint", [&](void* at) { write_int(dtype, distribution(generator()), at); });
}

/// Numbers that keep arithmetic away from its ends: floats from 0 to 10, integers that any type of the kind holds.
void random_fill(DLTensor* out) {
  DataType dtype(out->dtype);
  if (dtype.is_float() || dtype.is_bfloat())
    fill_floats(out, "random_fill", std::uniform_real_distribution<double>(0, 10));
  else fill_integers(0, dtype.bits == 1 ? 2 : 127, out);
}

Globals random_globals{
    {"tvm.contrib.random.seed", [](int64_t value) { generator().seed(static_cast<uint64_t>(value)); }},
    {"tvm.contrib.random.randint", fill_integers},
    {"tvm.contrib.random.uniform",
     [](double low, double high, DLTensor* out) {
       fill_floats(out, "uniform", std::uniform_real_distribution<double>(low, high));
     }},
    {"tvm.contrib.random.normal",
     [](double loc, double scale, DLTensor* out) {
       fill_floats(out, "normal", std::normal_distribution<double>(loc, scale));
     }},
    {"tvm.contrib.random.random_fill", random_fill},
};

}  // namespace
}  // namespace tessera
