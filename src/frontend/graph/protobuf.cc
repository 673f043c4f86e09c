#include "frontend/graph/protobuf.h"

#include <cstring>

#include "frontend/common/wire.h"
#include "frontend/graph/proto_builder.h"

namespace tessera::frontend {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int kMaxFitting = 100;  // messages that are looked into to tell a format

const ProtoField* field_of(const ProtoMessage& message, uint32_t number) {
  for (const ProtoField& field : message.fields)
    if (field.number != 0 && static_cast<uint32_t>(field.number) == number) return &field;
  return nullptr;
}

/// The wire type of one value of a field.
pbf_wire_type wire_type(Proto kind) {
  switch (kind) {
    case Proto::Integer:
    case Proto::Enum: return pbf_wire_type::varint;
    case Proto::Real:
    case Proto::Floats: return pbf_wire_type::fixed32;
    case Proto::Double:
    case Proto::Doubles: return pbf_wire_type::fixed64;
    default: return pbf_wire_type::length_delimited;
  }
}

bool is_of_type(const ProtoField& field, pbf_wire_type given) {
  if (field.kind == Proto::Ignored || given == wire_type(field.kind)) return true;
  const bool is_list = field.is_repeated || field.kind == Proto::Floats || field.kind == Proto::Doubles;
  return is_list && given == pbf_wire_type::length_delimited;  // packed
}

class BinaryReader {
 public:
  explicit BinaryReader(const ProtoSource& source) : source_(source) {}

  ObjectRef message(pbf_reader in, const ProtoMessage& type, int depth) {
    if (depth > kMaxProtoDepth) damaged(source_, "messages lie inside each other deeper than 100 levels");
    ProtoBuilder out(source_, &parts_);
    while (in.next()) {
      const ProtoField* field = field_of(type, in.tag());
      if (!field || field->kind == Proto::Ignored) {
        in.skip();
        continue;
      }
      if (!is_of_type(*field, in.wire_type()))
        damaged(source_, std::string("the field ") + field->name + " of a " + type.name + " is of another type");
      if (field->kind == Proto::Message) {
        out.add(*field, message(in.get_message(), *field->message, depth + 1));
      } else if (field->kind == Proto::Text) {
        out.add(*field, String(next_view(in)));
      } else if (in.wire_type() == pbf_wire_type::length_delimited) {
        packed(in, *field, &out);
      } else {
        switch (wire_type(field->kind)) {
          case pbf_wire_type::fixed32: out.add_real(*field, in.get_float()); break;
          case pbf_wire_type::fixed64: out.add_real(*field, in.get_double()); break;
          default: out.add_integer(*field, in.get_int64());
        }
      }
    }
    return out.finish();
  }

 private:
  static void packed(pbf_reader& in, const ProtoField& field, ProtoBuilder* out) {
    switch (wire_type(field.kind)) {
      case pbf_wire_type::fixed32:
        for (float value : in.get_packed_float()) out->add_real(field, value);
        break;
      case pbf_wire_type::fixed64:
        for (double value : in.get_packed_double()) out->add_real(field, value);
        break;
      default:
        for (int64_t value : in.get_packed_int64()) out->add_integer(field, value);
    }
  }

  const ProtoSource& source_;
  int64_t parts_ = 0;
};

bool fits(pbf_reader in, const ProtoMessage& message, int* left) {
  while (in.next()) {
    const ProtoField* field = field_of(message, in.tag());
    if (field ? !is_of_type(*field, in.wire_type()) : !message.is_open) return false;
    if (!field || field->kind != Proto::Message || --*left < 0) in.skip();
    else if (!fits(in.get_message(), *field->message, left)) return false;
  }
  return true;
}

template <class T>
NDArray array_of(const std::vector<T>& values, DataType dtype) {
  NDArray out = NDArray::empty(std::vector<int64_t>{static_cast<int64_t>(values.size())}, dtype);
  if (!values.empty()) std::memcpy(out.data<char>(), values.data(), values.size() * sizeof(T));
  return out;
}

}  // namespace

void damaged(const ProtoSource& source, const std::string& how) {
  throw Error(ValueError) << source.name << " is no " << source.kind << ", or it is damaged: " << how;
}

void ProtoBuilder::add(const ProtoField& field, ObjectRef value) {
  if (++*parts_ > kMaxProtoParts) damaged(source_, "it has more than four million parts");
  if (field.is_repeated) lists_[&field].push_back(std::move(value));
  else map_.set(String(field.name), std::move(value));
}

void ProtoBuilder::add_integer(const ProtoField& field, int64_t value) {
  if (field.kind == Proto::Enum)
    for (const auto& [number, name] : field.values)
      if (number == value) return add(field, String(name));
  add(field, number_boxes.box_int(value));
}

void ProtoBuilder::add_real(const ProtoField& field, double value) {
  if (field.kind == Proto::Floats) floats_[&field].push_back(static_cast<float>(value));
  else if (field.kind == Proto::Doubles) doubles_[&field].push_back(value);
  else add(field, number_boxes.box_float(value));
}

ObjectRef ProtoBuilder::finish() {
  for (auto& [field, values] : lists_) map_.set(String(field->name), Array<ObjectRef>(values));
  for (auto& [field, values] : floats_) map_.set(String(field->name), array_of(values, DataType::Float(32)));
  for (auto& [field, values] : doubles_) map_.set(String(field->name), array_of(values, DataType::Float(64)));
  return map_;
}

Fields read_protobuf(std::string_view bytes, const ProtoMessage& message, const ProtoSource& source) {
  return read_wire(
      source.name, [&] { return Fields(BinaryReader(source).message(reader_of(bytes), message, 0)); },
      [&](const char* how) { damaged(source, how); });
}

bool fits_protobuf(std::string_view bytes, const ProtoMessage& message) {
  int left = kMaxFitting;
  try {
    return !bytes.empty() && fits(reader_of(bytes), message, &left);
  } catch (const protozero::exception&) {
    return false;
  }
}

std::vector<Fields> messages_of(const Fields& fields, std::string_view name) {
  std::vector<Fields> out;
  for (const ObjectRef& item : fields.list(name)) out.emplace_back(item, std::string(name));
  return out;
}

NDArray numbers_array(const Fields& fields, std::string_view name) {
  return downcast_or_null<NDArray>(fields.get(name));
}

}  // namespace tessera::frontend
