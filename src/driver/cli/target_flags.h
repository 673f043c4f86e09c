#pragma once
// --target, --target-<kind>-<option> and --cpu.

#include <string>
#include <vector>

#include "driver/option_text.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera::cli {

struct TargetFlags {
  std::string text = "llvm", cpu;
  TargetOptionTexts options;

  /// One flag for each option of each registered kind; help shows --target alone.
  void add_to(CLI::App& command);
  /// False when --target and its like were left out.
  bool is_given() const;
  /// An error where --cpu names several: what is run at once is compiled for one.
  Target target() const;
  /// One for each CPU that --cpu names, else one.
  std::vector<Target> targets() const;

 private:
  CLI::Option* flag_ = nullptr;
};

/// The CPU that a target's code is for, by LLVM's name; empty where nothing is compiled for one.
std::string cpu_name(const Target& target);

}  // namespace tessera::cli
