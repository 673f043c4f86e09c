#pragma once
// What operators of PIR are called as descriptions of operators have them.

#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::paddle {

/// An operator of PIR: arguments stand in the order of their slots. An attribute that became an argument has a slot of its name.
struct PirName {
  std::string op;
  std::vector<std::string> inputs{"X", "Y"}, outputs{"Out"};
  std::unordered_map<std::string, std::string> attributes;  // those with other names
};

/// The names of "pd_op.NAME"; those of an operator that has the same name in both.
PirName pir_name(const std::string& name);

}  // namespace tessera::paddle
