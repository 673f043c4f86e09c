// Element types by the numbers that TorchScript gives them.

#include "frontend/torch/graph.h"

namespace tessera::torch {
namespace {

struct ScalarTypeRow {
  int64_t number;
  DataType dtype;
  bool is_quantized = false;
};
const ScalarTypeRow kScalarTypes[] = {
    {0, DataType::UInt(8)},       {1, DataType::Int(8)},         {2, DataType::Int(16)},
    {3, DataType::Int(32)},       {4, DataType::Int(64)},        {5, DataType::Float(16)},
    {6, DataType::Float(32)},     {7, DataType::Float(64)},      {11, DataType::Bool()},
    {12, DataType::Int(8), true}, {13, DataType::UInt(8), true}, {14, DataType::Int(32), true},
    {15, DataType::BFloat(16)},   {27, DataType::UInt(16)},      {28, DataType::UInt(32)},
    {29, DataType::UInt(64)},
};

}  // namespace

DataType element_type_of(int64_t scalar_type) {
  for (const ScalarTypeRow& row : kScalarTypes)
    if (row.number == scalar_type) return row.dtype;
  throw Error(NotImplementedError) << "the element type " << scalar_type << " of PyTorch is not supported";
}

bool is_quantized_type(int64_t scalar_type) {
  for (const ScalarTypeRow& row : kScalarTypes)
    if (row.number == scalar_type) return row.is_quantized;
  return false;
}

int64_t scalar_type_of(DataType dtype) {
  for (const ScalarTypeRow& row : kScalarTypes)
    if (row.dtype == dtype && !row.is_quantized) return row.number;
  return -1;
}

}  // namespace tessera::torch
