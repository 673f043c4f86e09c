#pragma once
// A message that is being read, from either form of protobuf.

#include <map>

#include "frontend/errors.h"
#include "frontend/graph/protobuf.h"

namespace tessera::frontend {

inline constexpr int64_t kMaxProtoParts =
    4'000'000;                              // of all messages of a file: a small part takes a hundred times its bytes
inline constexpr int kMaxProtoDepth = 100;  // of messages inside each other

[[noreturn]] void damaged(const ProtoSource& source, const std::string& how);

class ProtoBuilder {
 public:
  ProtoBuilder(const ProtoSource& source, int64_t* parts) : source_(source), parts_(parts) {}

  void add(const ProtoField& field, ObjectRef value);
  void add_integer(const ProtoField& field, int64_t value);  // an Integer, a flag or the number of an Enum
  void add_real(const ProtoField& field, double value);      // of any of the four kinds
  ObjectRef finish();

 private:
  const ProtoSource& source_;
  int64_t* parts_;
  Map<String, ObjectRef> map_;
  std::map<const ProtoField*, std::vector<ObjectRef>> lists_;
  std::map<const ProtoField*, std::vector<float>> floats_;
  std::map<const ProtoField*, std::vector<double>> doubles_;
};

}  // namespace tessera::frontend
