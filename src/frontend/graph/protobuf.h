#pragma once
// Files of protobuf, in its binary form and as text, by a table of the messages that an importer reads. Both become the same maps.

#include <string>
#include <vector>

#include "frontend/graph/fields.h"
#include "runtime/ndarray.h"

namespace tessera::frontend {

struct ProtoMessage;

/// What a field holds, and as what a map has it.
enum class Proto {
  Integer,  // also a bool: a number
  Real,     // float: a number
  Double,
  Text,     // also bytes: a String
  Enum,     // the value's name, or the number where it has none
  Floats,   // all values of a repeated float: one NDArray of one dimension
  Doubles,  // the same of double
  Message,  // a map
  Ignored,  // known, but nothing that a converter asks for
};

struct ProtoField {
  int number;  // 0: text has it only
  const char* name;
  Proto kind = Proto::Ignored;
  bool is_repeated = false;  // an Array, of however many values
  const ProtoMessage* message = nullptr;
  std::vector<std::pair<int, const char*>> values = {};  // of an enum
};

struct ProtoMessage {
  const char* name;
  std::vector<ProtoField> fields;
  bool is_open = false;  // fields that are not listed are left out; else they are an error in text
};

/// What a file is called in errors ("net.caffemodel"), and what it should be ("Caffe model").
struct ProtoSource {
  std::string name;
  const char* kind;
};

/// The message as a map. Unknown fields of the binary form are left out, as protobuf does.
Fields read_protobuf(std::string_view bytes, const ProtoMessage& message, const ProtoSource& source);
Fields read_protobuf_text(std::string_view text, const ProtoMessage& message, const ProtoSource& source);
/// True where the bytes may be the message's binary form: they have no fields that are not listed, but in open messages, and those that
/// are have their wire type.
bool fits_protobuf(std::string_view bytes, const ProtoMessage& message);

/// Maps of a repeated message.
std::vector<Fields> messages_of(const Fields& fields, std::string_view name);
/// Numbers of a field of kind Floats or Doubles; null where there are none.
NDArray numbers_array(const Fields& fields, std::string_view name);

}  // namespace tessera::frontend
