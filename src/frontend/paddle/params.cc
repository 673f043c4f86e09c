// `.pdiparams`: tensors one behind the other, without names.

#include <algorithm>
#include <span>

#include "frontend/common/bytes.h"
#include "frontend/errors.h"
#include "frontend/paddle/paddle.h"
#include "frontend/paddle/program_desc.h"
#include "runtime/archive/files.h"

namespace tessera::paddle {
namespace {

constexpr uint64_t kMaxLevels = 64;

/// A version, offsets of sequences, a version, the description, the bytes.
NDArray read_tensor(frontend::ByteReader& in) {
  if (in.next<uint32_t>() != 0) in.fail("a tensor is of an unknown version");
  const auto levels = in.next<uint64_t>();
  if (levels > kMaxLevels) in.fail("a tensor has too many levels of sequences");
  for (uint64_t i = 0; i < levels; ++i) in.take(in.next<uint64_t>());
  if (in.next<uint32_t>() != 0) in.fail("a tensor is of an unknown version");
  const auto length = in.next<int32_t>();
  if (length < 0) in.fail("a tensor's description has less than no bytes");
  std::string_view description = in.take(static_cast<uint64_t>(length));
  const auto [element, shape] = read_tensor_desc(description, in.name());
  return in.tensor(shape, type_of_number(element));
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
  frontend::ByteReader in(bytes, what, "does not hold the parameters of this program");
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
