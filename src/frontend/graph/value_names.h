#pragma once
// Names of values where a node may write over what it reads: each written value gets a name of its own.

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tessera::frontend {

/// The last value that is written under a name has it; those before have a number behind it ("conv1#1").
class ValueNames {
 public:
  /// Before anything is read or written: a node will write `name`.
  void will_be_written(const std::string& name) { ++left_[name]; }
  void add_input(const std::string& name) { current_[name] = name; }

  bool has(const std::string& name) const { return current_.count(name) != 0; }
  /// The value that the name stands for by now; it is not unread any more.
  std::string read(const std::string& name) {
    read_.insert(current_.at(name));
    return current_.at(name);
  }
  std::string write(const std::string& name) {
    const int left = --left_[name];
    const bool is_taken = left > 0 || (has(name) && current_.at(name) == name);  // as an input
    std::string value = is_taken ? name + "#" + std::to_string(left) : name;
    current_[name] = value;
    written_.push_back(value);
    return value;
  }
  /// What was written and never read, in order.
  std::vector<std::string> unread() const {
    std::vector<std::string> out;
    for (const std::string& value : written_)
      if (!read_.count(value)) out.push_back(value);
    return out;
  }

 private:
  std::unordered_map<std::string, int> left_;
  std::unordered_map<std::string, std::string> current_;
  std::unordered_set<std::string> read_;
  std::vector<std::string> written_;
};

}  // namespace tessera::frontend
