#pragma once
// The variables of a SavedModel: a sorted table of entries beside files with their data.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/ndarray.h"

namespace tessera::tensorflow {

class Bundle {
 public:
  /// `prefix`: the path of the files without ".index" and ".data-00000-of-00001". A model without variables has none.
  explicit Bundle(const std::string& prefix);
  /// The same of the table's bytes, which are what ".index" holds.
  Bundle(const std::string& prefix, std::string_view table);

  bool has(const std::string& key) const { return entries_.count(key) > 0; }
  /// An error that names some keys where there is none of this name, or where its data does not lie in the files.
  NDArray read(const std::string& key) const;

 private:
  struct Entry {
    int64_t type = 0, shard = 0, offset = 0, size = 0;
    std::vector<int64_t> shape;
    bool is_sliced = false;
  };
  void read_table(std::string_view bytes);
  void read_block(std::string_view block, bool is_index, std::string_view bytes);
  void add(const std::string& key, std::string_view value);

  std::string prefix_;
  int64_t shards_ = 1;
  size_t unpacked_ = 0;  // bytes of keys and entries so far
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace tessera::tensorflow
