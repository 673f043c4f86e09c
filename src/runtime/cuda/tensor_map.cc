#include "runtime/cuda/tensor_map.h"

#include <dlfcn.h>

#include <sstream>

#include "runtime/cuda/driver.h"

namespace tessera::cuda {
namespace {

constexpr size_t kMaxAxes = 5;
constexpr int64_t kMaxBox = 256, kMaxPositions = 1024;  // elements of an axis; windows
constexpr int64_t kMaxExtent = int64_t{1} << 32, kMaxStride = int64_t{1} << 40, kStrideUnit = 16;
constexpr int64_t kLineBytes = 128;

// Values of cuda.h.
constexpr int kNoInterleave = 0, kSwizzle128 = 3, kPromoteTo256 = 3, kFillZeros = 0;

struct ElementType {
  const char* name;
  int code;
};
constexpr ElementType kElementTypes[] = {{"uint8", 0},   {"int8", 0},    {"int32", 3},
                                         {"float16", 6}, {"float32", 7}, {"bfloat16", 9}};

int code_of(DataType dtype) {
  const std::string name = dtype.str();
  for (const ElementType& row : kElementTypes)
    if (name == row.name) return row.code;
  throw Error(ValueError) << "a tensor map: the copy engine moves no elements of type " << name;
}

/// The driver's functions since CUDA 12.
struct Encoders {
  CUresult (*tiles)(TensorDescriptor*, int, unsigned, void*, const uint64_t*, const uint64_t*, const uint32_t*,
                    const uint32_t*, int, int, int, int) = nullptr;
  CUresult (*windows)(TensorDescriptor*, int, unsigned, void*, const uint64_t*, const uint64_t*, const int*, const int*,
                      unsigned, unsigned, const uint32_t*, int, int, int, int) = nullptr;
};

const Encoders& encoders() {
  static const Encoders found = [] {
    Encoders out;
    driver();  // is loaded, or says why not
    if (void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
      out.tiles = reinterpret_cast<decltype(out.tiles)>(dlsym(handle, "cuTensorMapEncodeTiled"));
      out.windows = reinterpret_cast<decltype(out.windows)>(dlsym(handle, "cuTensorMapEncodeIm2col"));
    }
    return out;
  }();
  if (!found.tiles || !found.windows)
    throw Error(RuntimeError)
        << "the CUDA driver makes no tensor maps, which kernels for sm_90a need: it is older than "
           "CUDA 12; update it, or compile for -arch=sm_90";
  return found;
}

void require(bool holds, const std::string& text, const char* what) {
  if (!holds) throw Error(ValueError) << "a tensor map: " << what << ", in \"" << text << "\"";
}

bool all_within(const std::vector<int64_t>& values, int64_t least, int64_t most) {
  for (int64_t value : values)
    if (value < least || value > most) return false;
  return true;
}

void check(const TensorMap& map, const std::string& text) {
  const size_t axes = map.extents.size();
  require(map.argument >= 0 && map.argument < 4096, text, "an argument's number is expected");
  require(map.offset >= 0 && map.offset < kMaxStride, text, "the offset is out of range");
  require(axes >= (map.has_windows() ? 3 : 1) && axes <= kMaxAxes, text, "one to five axes are expected");
  require(all_within(map.extents, 1, kMaxExtent), text, "an extent is out of range");
  require(map.strides.size() + 1 == axes && all_within(map.strides, 1, kMaxStride - 1), text,
          "strides are out of range");
  for (int64_t stride : map.strides) require(stride % kStrideUnit == 0, text, "strides are multiples of 16 bytes");
  require(!map.box.empty() && map.box[0] * map.dtype.bytes() <= kLineBytes && map.box[0] > 0, text,
          "a line of the box has at most 128 bytes");
  if (!map.has_windows()) {
    require(map.box.size() == axes && all_within(map.box, 1, kMaxBox), text,
            "the box has 1 to 256 elements of each axis");
    require(map.lower.empty() && map.upper.empty(), text, "corners without steps");
    return;
  }
  const int64_t corner = axes == 3 ? 32768 : axes == 4 ? 128 : 16;
  require(map.box.size() == 2 && map.box[1] >= 1 && map.box[1] <= kMaxPositions, text,
          "the box of windows has channels and positions");
  require(map.lower.size() == axes - 2 && map.upper.size() == axes - 2 && map.steps.size() == axes - 2, text,
          "the axes of windows have corners and steps");
  require(all_within(map.lower, -corner, corner - 1) && all_within(map.upper, -corner, corner - 1) &&
              all_within(map.steps, 1, 8),
          text, "a corner or a step of windows is out of range");
}

}  // namespace

std::string TensorMap::text() const {
  std::string out = std::to_string(argument) + " " + dtype.str() + " " + std::to_string(offset);
  auto add = [&](const char* name, const std::vector<int64_t>& values) {
    if (values.empty()) return;
    out += std::string(" ") + name;
    for (int64_t value : values) out += " " + std::to_string(value);
  };
  add("extents", extents);
  add("strides", strides);
  add("box", box);
  add("lower", lower);
  add("upper", upper);
  add("steps", steps);
  return out;
}

TensorMap read_tensor_map(const std::string& text) {
  std::istringstream in(text);
  TensorMap out;
  std::string word;
  std::vector<int64_t>* list = nullptr;
  require(static_cast<bool>(in >> out.argument >> word >> out.offset), text,
          "an argument, a type of elements and an offset are expected");
  out.dtype = DataType(word);
  code_of(out.dtype);
  while (in >> word) {
    if (word == "extents") list = &out.extents;
    else if (word == "strides") list = &out.strides;
    else if (word == "box") list = &out.box;
    else if (word == "lower") list = &out.lower;
    else if (word == "upper") list = &out.upper;
    else if (word == "steps") list = &out.steps;
    else {
      char* end = nullptr;
      require(list && list->size() < kMaxAxes, text, "a list is expected");
      list->push_back(std::strtoll(word.c_str(), &end, 10));
      require(*end == '\0', text, "a number is expected");
    }
  }
  check(out, text);
  return out;
}

TensorDescriptor descriptor_of(const TensorMap& map, unsigned long long argument) {
  TensorDescriptor out{};
  auto* data = reinterpret_cast<void*>(argument + static_cast<unsigned long long>(map.offset * map.dtype.bytes()));
  const std::vector<uint64_t> extents(map.extents.begin(), map.extents.end()),
      strides(map.strides.begin(), map.strides.end());
  const auto axes = static_cast<unsigned>(map.extents.size());
  std::vector<uint32_t> steps(axes, 1);
  CUresult code = kSuccess;
  if (map.has_windows()) {
    for (size_t i = 0; i < map.steps.size(); ++i) steps[i + 1] = static_cast<uint32_t>(map.steps[i]);
    const std::vector<int> lower(map.lower.begin(), map.lower.end()), upper(map.upper.begin(), map.upper.end());
    code = encoders().windows(&out, code_of(map.dtype), axes, data, extents.data(), strides.data(), lower.data(),
                              upper.data(), static_cast<unsigned>(map.box[0]), static_cast<unsigned>(map.box[1]),
                              steps.data(), kNoInterleave, kSwizzle128, kPromoteTo256, kFillZeros);
  } else {
    const std::vector<uint32_t> box(map.box.begin(), map.box.end());
    code = encoders().tiles(&out, code_of(map.dtype), axes, data, extents.data(), strides.data(), box.data(),
                            steps.data(), kNoInterleave, kSwizzle128, kPromoteTo256, kFillZeros);
  }
  if (code != kSuccess) {
    const bool is_aligned = reinterpret_cast<unsigned long long>(data) % kStrideUnit == 0;
    cuda::check(code, "making the tensor map \"" + map.text() + "\"" +
                          (is_aligned ? "" : " of data that does not begin at a multiple of 16 bytes"));
  }
  return out;
}

}  // namespace tessera::cuda
