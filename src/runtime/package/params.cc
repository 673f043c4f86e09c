// Parameter files, little endian:
//
//   u64 0xF7E58D4F05049CB7, u64 0,  u64 n, n names (u64 length, bytes),  u64 n, n tensors
//   tensor: u64 0xDD5E40F096B4A13F, u64 0,  i32 device type, i32 device id,  i32 rank,
//           u8 code, u8 bits, u16 lanes,  rank x i64 extent,  i64 bytes, data

#include "runtime/package/params.h"

#include "runtime/archive/files.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr uint64_t kParamsMagic = 0xF7E58D4F05049CB7;
constexpr uint64_t kTensorMagic = 0xDD5E40F096B4A13F;
constexpr int kMaxRank = 1024;

void expect(ByteReader& in, uint64_t magic, const char* part) {
  if (in.read<uint64_t>(part) != magic) in.fail(part, "does not begin as it should");
  in.read<uint64_t>(part);  // reserved
}

DataType read_dtype(ByteReader& in) {
  auto code = in.read<uint8_t>("an element type");
  auto bits = in.read<uint8_t>("an element type");
  auto lanes = in.read<uint16_t>("an element type");
  if (code > DataType::kBFloat || bits == 0 || bits > 64 || lanes == 0)
    in.fail("an element type", "is none that exists");
  return DataType(code, bits, lanes);
}

}  // namespace

void write_tensor(ByteWriter& out, const NDArray& array) {
  DataType dtype = array.dtype();
  out.write(kTensorMagic);
  out.write(uint64_t{0});
  out.write(int32_t{kDLCPU});
  out.write(int32_t{0});
  out.write(static_cast<int32_t>(array.shape().size()));
  out.write(dtype.code);
  out.write(dtype.bits);
  out.write(dtype.lanes);
  for (int64_t extent : array.shape()) out.write(extent);
  out.write(static_cast<int64_t>(array.bytes()));
  NDArray host = array.device().device_type == kDLCPU ? array : array.copy_to(cpu());
  out.raw(host.data<char>(), host.bytes());
}

void write_tensor(const Sink& out, const NDArray& array) {
  ByteWriter bytes(out);
  write_tensor(bytes, array);
  bytes.flush();
}

NDArray read_tensor(ByteReader& in) {
  expect(in, kTensorMagic, "a tensor");
  auto device_type = in.read<int32_t>("a device");
  in.read<int32_t>("a device");
  if (device_type != kDLCPU) in.fail("a device", "is not the cpu, and parameters are stored for it only");
  auto rank = in.read<int32_t>("a rank");
  if (rank < 0 || rank > kMaxRank) in.fail("a rank", "is " + std::to_string(rank));
  DataType dtype = read_dtype(in);
  std::vector<int64_t> shape(static_cast<size_t>(rank));
  for (int64_t& extent : shape) extent = in.read<int64_t>("a shape");
  auto bytes = in.read<int64_t>("the size of a tensor");
  if (bytes < 0 || tensor_bytes(shape, dtype) != static_cast<uint64_t>(bytes))
    in.fail("the size of a tensor",
            "is " + std::to_string(bytes) + ", which does not fit its shape " + shape_text(shape));
  std::string_view data = in.raw(static_cast<size_t>(bytes), "the data of a tensor");  // before memory is asked for
  NDArray array = NDArray::empty(shape, dtype);
  array.copy_from_bytes(data.data(), data.size());
  return array;
}

void write_params(const Sink& out, const Map<String, NDArray>& params) {
  ByteWriter bytes(out);
  bytes.write(kParamsMagic);
  bytes.write(uint64_t{0});
  bytes.write(uint64_t{params.size()});
  for (const auto& [name, _] : params) bytes.write(std::string_view(name));
  bytes.write(uint64_t{params.size()});
  for (const auto& [_, array] : params) write_tensor(bytes, array);
  bytes.flush();
}

std::string save_params(const Map<String, NDArray>& params) {
  constexpr size_t kHead = 64;  // at least: the numbers before a tensor, and what leads its name
  size_t size = kHead;
  for (const auto& [name, array] : params)
    size += kHead + name.size() + array.shape().size() * sizeof(int64_t) + array.bytes();
  std::string out;
  out.reserve(size);
  write_params([&](std::string_view part) { out.append(part); }, params);
  return out;
}

Map<String, NDArray> load_params(std::string_view data) {
  ByteReader in(data, "parameters");
  expect(in, kParamsMagic, "the header");
  std::vector<String> names;
  size_t count = in.read_count(sizeof(uint64_t), "the number of names");
  for (size_t i = 0; i < count; ++i) names.emplace_back(in.read_string("a name"));
  if (in.read<uint64_t>("the number of tensors") != count)
    in.fail("the number of tensors", "differs from the number of names, " + std::to_string(count));
  Map<String, NDArray> params;
  for (const String& name : names) params.set(name, read_tensor(in));
  return params;
}

namespace {

void save_params_to_file(Map<String, NDArray> params, std::string path) {
  write_whole_file(path, [&](const Sink& out) { write_params(out, params); });
}

Map<String, NDArray> load_params_from_file(std::string path) {
  return load_params(MappedFile(path, "the parameter file").bytes());
}

Globals params_globals{
    {"runtime.SaveParams", [](Map<String, NDArray> params) { return Bytes(save_params(params)); }},
    {"runtime.SaveParamsToFile", save_params_to_file},
    {"runtime.LoadParams", [](Bytes data) { return load_params(data.str()); }},
    {"runtime.LoadParamsFromFile", load_params_from_file},
};

}  // namespace
}  // namespace tessera
