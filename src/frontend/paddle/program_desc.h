#pragma once
// ProgramDesc as plain structures: blocks of variables and operators.

#include <string>
#include <vector>

#include "frontend/graph/fields.h"

namespace tessera::paddle {

inline constexpr int kDenseTensor = 7;  // the kind of a variable

struct VarDesc {
  std::string name;
  int64_t kind = 0, element = -1;
  std::vector<int64_t> shape;
  bool is_persistable = false, is_fed = false;
};
struct Arguments {
  std::string slot;
  std::vector<std::string> names;
};
struct OpDesc {
  std::string type;
  std::vector<Arguments> inputs, outputs;
  frontend::Fields attributes;
};
struct BlockDesc {
  std::vector<VarDesc> vars;
  std::vector<OpDesc> ops;
};

std::vector<BlockDesc> read_blocks(std::string_view protobuf);

/// Element type and extents of a tensor, as programs and files of parameters describe them.
struct TensorDesc {
  int64_t element = -1;
  std::vector<int64_t> shape;
};
TensorDesc read_tensor_desc(std::string_view protobuf, const std::string& file);

}  // namespace tessera::paddle
