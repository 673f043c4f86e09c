#pragma once
// --target and --target-<kind>-<option>.

#include <CLI/CLI.hpp>

#include "driver/option_text.h"

namespace tessera::cli {

struct TargetFlags {
  std::string text = "llvm";
  TargetOptionTexts options;

  /// One flag for each option of each registered kind; help shows --target alone.
  void add_to(CLI::App& command);
  /// False when --target and its like were left out.
  bool is_given() const { return flag_ && (flag_->count() > 0 || !options.empty()); }
  Target target() const { return target_from_text(text, options); }

 private:
  CLI::Option* flag_ = nullptr;
};

}  // namespace tessera::cli
