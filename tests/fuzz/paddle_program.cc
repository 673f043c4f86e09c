// PaddlePaddle's programs, as ProgramDesc or PIR: any bytes are read and imported, or rejected.

#include <cstring>

#include "frontend/paddle/paddle.h"
#include "import_layers.h"

using namespace tessera;

namespace {

constexpr int64_t kMaxElements = 1 << 16;

/// Zeros for parameters that a small file could hold.
paddle::Params zeros_for(const paddle::Program& program) {
  paddle::Params out;
  for (const frontend::GraphInput& param : program.params) {
    int64_t count = 1;
    for (int64_t extent : param.shape)
      if (extent < 0 || (extent && count > kMaxElements / extent)) return out;
      else count *= extent;
    NDArray value = NDArray::empty(param.shape, param.dtype);
    std::memset(value.data<char>(), 0, static_cast<size_t>(count * param.dtype.bytes()));
    out.emplace(param.name, value);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  paddle::is_program(bytes), paddle::is_pir(bytes);
  expect_value_or_error([&] {
    paddle::Program program = paddle::read_program(bytes);
    paddle::Params params = zeros_for(program);
    import_layers(paddle::with_params(std::move(program), std::move(params)), paddle::converters());
  });
  return 0;
}
