// Subgraphs that are called, chosen or repeated, and variables.

#include "frontend/tflite/importer.h"

namespace tessera::tflite {
namespace {

Values call(Node& in) { return in.importer().call(in.function("function"), in.inputs()); }

/// What a subgraph does before the first run: it sets variables.
Values call_once(Node& in) {
  in.importer().call(in.function("function"), {});
  return {};
}

}  // namespace

Rows control_rows() {
  constexpr Quantized kItself = Quantized::ByItself;
  return {
      {144, "ASSIGN_VARIABLE", kItself, as("AssignVariableOp")},
      {31, "CALL", kItself, call},
      {129, "CALL_ONCE", kItself, call_once},
      {118, "IF", kItself, as("If")},
      {143, "READ_VARIABLE", kItself, as("ReadVariableOp")},
      {142, "VAR_HANDLE", kItself, as("VarHandleOp")},
      {119, "WHILE", kItself, as("While")},
  };
}

}  // namespace tessera::tflite
