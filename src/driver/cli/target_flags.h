#pragma once
// --target and --target-<kind>-<option>.

#include <string>

#include "driver/option_text.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera::cli {

struct TargetFlags {
  std::string text = "llvm";
  TargetOptionTexts options;

  /// One flag for each option of each registered kind; help shows --target alone.
  void add_to(CLI::App& command);
  /// False when --target and its like were left out.
  bool is_given() const;
  Target target() const { return target_from_text(text, options); }

 private:
  CLI::Option* flag_ = nullptr;
};

}  // namespace tessera::cli
