#pragma once

namespace tessera::tune {

/// What became of a candidate; the numbers are those of v0.10's records.
enum class MeasureError : int {
  None = 0,
  Instantiation = 1,
  CompileHost = 2,
  CompileDevice = 3,
  RuntimeDevice = 4,
  WrongAnswer = 5,
  BuildTimeout = 6,
  RunTimeout = 7,
  Unknown = 8,
};

}  // namespace tessera::tune
