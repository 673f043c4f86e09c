// `.pdiparams`: tensors one behind the other, without names.

#include <algorithm>
#include <cstring>
#include <span>

#include "frontend/errors.h"
#include "frontend/paddle/paddle.h"
#include "frontend/paddle/program_desc.h"
#include "runtime/archive/files.h"

namespace tessera::paddle {
namespace {

constexpr size_t kMaxDims = 64;

/// Bytes in order; what is missing is an error.
class Bytes {
 public:
  Bytes(std::string_view bytes, const std::string& what) : rest_(bytes), what_(what) {}

  template <class T>
  T next() {
    T out;
    std::memcpy(&out, take(sizeof(T)).data(), sizeof(T));
    return out;
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) fail("it ends too early");
    std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  const std::string& name() const { return what_; }
  uint64_t left() const { return rest_.size(); }
  [[noreturn]] void fail(const std::string& how) const {
    throw Error(ValueError) << what_ << " does not hold the parameters of this program, or it is damaged: " << how;
  }

 private:
  std::string_view rest_;
  const std::string& what_;
};

/// A version, offsets of sequences, a version, the description, the bytes.
NDArray read_tensor(Bytes& in) {
  if (in.next<uint32_t>() != 0) in.fail("a tensor is of an unknown version");
  const auto levels = in.next<uint64_t>();
  if (levels > kMaxDims) in.fail("a tensor has too many levels of sequences");
  for (uint64_t i = 0; i < levels; ++i) in.take(in.next<uint64_t>());
  if (in.next<uint32_t>() != 0) in.fail("a tensor is of an unknown version");
  const auto length = in.next<int32_t>();
  if (length < 0) in.fail("a tensor's description has less than no bytes");
  std::string_view description = in.take(static_cast<uint64_t>(length));
  const auto [element, shape] = read_tensor_desc(description, in.name());
  if (shape.size() > kMaxDims) in.fail("a tensor has too many dimensions");
  const DataType dtype = type_of_number(element);
  auto size = static_cast<uint64_t>(dtype.bytes());
  for (int64_t extent : shape) {
    if (extent < 0 || extent > INT32_MAX) in.fail("a dimension has an impossible extent");
    if (extent && size > in.left() / static_cast<uint64_t>(extent)) in.fail("a tensor is larger than the file");
    size *= static_cast<uint64_t>(extent);
  }
  std::string_view data = in.take(size);
  NDArray out = NDArray::empty(shape, dtype);
  std::memcpy(out.data<char>(), data.data(), data.size());
  return out;
}

std::string text_of_tensor(DataType dtype, std::span<const int64_t> shape) {
  std::string out = dtype.str() + "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

std::string with_end(const std::string& path, std::string_view end, const char* other) {
  return path.substr(0, path.size() - end.size()) + other;
}

bool has_end(const std::string& path, std::string_view end) {
  return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

/// The file of parameters beside a program; empty where the name of the program says nothing of it.
std::string params_beside(const std::string& path) {
  for (std::string_view end : {".pdmodel", ".json"})
    if (has_end(path, end)) return with_end(path, end, ".pdiparams");
  return has_end(path, "__model__") ? with_end(path, "__model__", "__params__") : "";
}

}  // namespace

Params read_params(std::string_view bytes, const std::vector<GraphInput>& params, const std::string& what) {
  Bytes in(bytes, what);
  Params out;
  for (const GraphInput& param : params) {
    NDArray value = read_tensor(in);
    if (value.dtype() != param.dtype || !std::ranges::equal(value.shape(), param.shape))
      in.fail("the program's parameter " + param.name + " is " + text_of_tensor(param.dtype, param.shape) +
              ", and the file has " + text_of_tensor(value.dtype(), value.shape()) + " there");
    out.emplace(param.name, std::move(value));
  }
  if (in.left()) in.fail(std::to_string(in.left()) + " bytes follow the last parameter");
  return out;
}

Program read_program(std::string_view bytes) { return is_pir(bytes) ? read_pir(bytes) : read_program_desc(bytes); }

GraphModel with_params(Program program, Params params) {
  for (const GraphInput& param : program.params)
    if (!params.count(param.name)) throw Error(ValueError) << "the model has no values of the parameter " << param.name;
  program.graph.params = std::move(params);
  return std::move(program.graph);
}

GraphModel read_files(const std::string& path) {
  MappedFile file(path, "the program");
  Program program = read_program(file.bytes());
  if (program.params.empty()) return with_params(std::move(program), {});
  const std::string beside = params_beside(path);
  if (beside.empty())
    throw Error(ValueError) << path << " needs parameters, whose file is found by the program's name: "
                            << "call it NAME.pdmodel or NAME.json, with NAME.pdiparams beside it";
  MappedFile values(beside, "the parameters");
  Params params = read_params(values.bytes(), program.params, beside);
  return with_params(std::move(program), std::move(params));
}

}  // namespace tessera::paddle
