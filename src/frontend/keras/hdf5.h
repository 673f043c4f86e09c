#pragma once
// HDF5 files, as far as Keras writes them: groups, datasets in one piece or inside their header, attributes.
//
// A reader of our own: a file needs no library, and nothing in it is trusted. Offsets must lie inside the file, what is visited is counted.
// Compressed and chunked datasets, and groups with more members than fit a header, in the newer of the two forms, are rejected.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ndarray.h"

namespace tessera::keras {

class Hdf5File {
 public:
  /// `what` names the file in messages. The bytes must outlive this.
  Hdf5File(std::string_view bytes, std::string what);
  static bool is_hdf5(std::string_view bytes);

  /// Paths have slashes between names; "" is the whole.
  bool has(const std::string& path);
  std::vector<std::string> names(const std::string& path);
  NDArray dataset(const std::string& path);
  /// The texts of an attribute: one of a scalar; nothing where there is no such attribute.
  std::optional<std::vector<std::string>> texts(const std::string& path, const std::string& attribute);

 private:
  struct Message {
    int type = 0;
    uint64_t begin = 0, size = 0;
  };
  struct Element {  // of a dataset or attribute
    enum Kind { Int, UInt, Float, Text, VariableText, Other } kind = Other;
    uint64_t size = 0;
    bool is_big_endian = false;
  };
  [[noreturn]] void damaged(const std::string& how) const;
  void count();  // something is visited
  std::string_view bytes(uint64_t at, uint64_t size) const;
  uint64_t number(uint64_t at, uint64_t size) const;  // little endian
  uint64_t offset(uint64_t at) const { return number(at, offset_size_); }
  uint64_t length(uint64_t at) const { return number(at, length_size_); }
  std::vector<Message> messages(uint64_t header);
  void messages_in(uint64_t begin, uint64_t end, bool is_old, int flags, std::vector<Message>* out, int depth);
  std::vector<std::pair<std::string, uint64_t>> links(uint64_t header);
  void links_of_tree(uint64_t node, uint64_t heap, int depth, std::vector<std::pair<std::string, uint64_t>>* out);
  std::optional<uint64_t> find(const std::string& path);
  Element element_at(uint64_t at) const;
  std::vector<int64_t> shape_at(uint64_t at) const;
  std::string text_in_heap(uint64_t at);

  std::string_view bytes_;
  std::string what_;
  uint64_t offset_size_ = 8, length_size_ = 8, base_ = 0, root_ = 0;
  int64_t visited_ = 0;
};

}  // namespace tessera::keras
