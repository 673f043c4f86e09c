#include "base/any.h"

#include <cmath>

namespace tessera {

const Object* AnyView::object() const {
  switch (code_) {
    case kTesseraObject:
    case kTesseraModule:
    case kTesseraFunction: return static_cast<const Object*>(value_.v_handle);
    case kTesseraNDArray:
      return reinterpret_cast<const Object*>(static_cast<const char*>(value_.v_handle) - kTensorOffset);
    case kTesseraRValueRef: return *static_cast<const Object**>(value_.v_handle);
    default: return nullptr;
  }
}

std::string AnyView::type_name() const {
  switch (code_) {
    case kTesseraInt: return "int";
    case kTesseraFloat: return "float";
    case kTesseraHandle: return "handle";
    case kTesseraNull: return "None";
    case kTesseraDataType: return "dtype";
    case kTesseraDevice: return "Device";
    case kTesseraDLTensor: return "DLTensor";
    case kTesseraStr: return "str";
    case kTesseraBytes: return "bytes";
    default: break;
  }
  const Object* held = object();
  return held ? held->type_key() : "a value of unknown code " + std::to_string(code_);
}

Any::Any(const AnyView& view) : AnyView(view) {
  if (code_ == kTesseraStr) {
    String text(value_.v_str);
    value_.v_handle = const_cast<StringNode*>(text.detach());
    code_ = kTesseraObject;
  } else if (code_ == kTesseraBytes) {
    auto* bytes = static_cast<const TesseraByteArray*>(value_.v_handle);
    Bytes copy(std::string(bytes->data, bytes->size));
    value_.v_handle = const_cast<BytesNode*>(copy.detach());
    code_ = kTesseraObject;
  } else if (code_ == kTesseraRValueRef) {
    *this = of_object(object());
  } else if (const Object* held = object()) {
    held->retain();
  }
}

void Any::reset() {
  if (const Object* held = object()) held->release();
  forget();
}

void Any::move_to(TesseraValue* value, int* code) {
  *value = value_;
  *code = code_;
  forget();
}

Any Any::take(TesseraValue value, int code) {
  Any out{AnyView(value, code)};
  if (const Object* held = AnyView(value, code).object()) held->release();  // the copy above took a share of its own
  return out;
}

Any Any::of_object(const Object* object) {
  if (!object) return Any();
  int code = object->type()->node->slot_code;
  void* handle = const_cast<Object*>(object);
  if (code == kTesseraNDArray) handle = static_cast<char*>(handle) + kTensorOffset;
  return Any(AnyView({.v_handle = handle}, code));
}

void throw_conversion(const AnyView& value, const std::string& expected) {
  throw Error(TypeError) << "expected " << expected << ", got " << value.type_name();
}

ObjectRef box(const AnyView& value) {
  switch (value.code()) {
    case kTesseraNull: return nullptr;
    case kTesseraInt:
      if (number_boxes.box_int) return number_boxes.box_int(value.raw().v_int64);
      break;
    case kTesseraFloat:
      if (number_boxes.box_float) return number_boxes.box_float(value.raw().v_float64);
      break;
    case kTesseraDataType: return String(DataType(value.raw().v_type).str());
    default: break;
  }
  Any owned(value);
  if (const Object* held = owned.object()) return ObjectRef(held);
  throw Error(TypeError) << "a value of type " << value.type_name() << " cannot stand inside a container";
}

int64_t unpack_int(const AnyView& view) {
  if (view.code() == kTesseraInt) return view.raw().v_int64;
  int64_t out;
  if (const Object* held = view.object(); held && number_boxes.unbox_int && number_boxes.unbox_int(held, &out))
    return out;
  if (view.code() == kTesseraFloat && std::nearbyint(view.raw().v_float64) == view.raw().v_float64 &&
      std::abs(view.raw().v_float64) < 9e15)
    return static_cast<int64_t>(view.raw().v_float64);
  throw_conversion(view, "int");
}

double unpack_float(const AnyView& view) {
  if (view.code() == kTesseraFloat) return view.raw().v_float64;
  if (view.code() == kTesseraInt) return static_cast<double>(view.raw().v_int64);
  double out;
  if (const Object* held = view.object(); held && number_boxes.unbox_float && number_boxes.unbox_float(held, &out))
    return out;
  throw_conversion(view, "float");
}

std::string Convert<std::string>::unpack(const AnyView& view) {
  if (view.code() == kTesseraStr) return view.raw().v_str;
  if (view.code() == kTesseraBytes) {
    auto* bytes = static_cast<const TesseraByteArray*>(view.raw().v_handle);
    return std::string(bytes->data, bytes->size);
  }
  if (auto* text = cast_or_null<StringNode>(view.object())) return text->text;
  if (auto* bytes = cast_or_null<BytesNode>(view.object())) return bytes->data;
  throw_conversion(view, "str");
}

String Convert<String>::unpack(const AnyView& view) {
  if (view.is_null()) return nullptr;
  if (auto* text = cast_or_null<StringNode>(view.object())) return String(text);
  return String(Convert<std::string>::unpack(view));
}

Bytes Convert<Bytes>::unpack(const AnyView& view) {
  if (auto* bytes = cast_or_null<BytesNode>(view.object())) return Bytes(bytes);
  return Bytes(Convert<std::string>::unpack(view));
}

DataType Convert<DataType>::unpack(const AnyView& view) {
  if (view.code() == kTesseraDataType) return DataType(view.raw().v_type);
  if (view.is_null()) return DataType::Void();
  if (view.code() == kTesseraStr || view.object()) return DataType(Convert<std::string>::unpack(view));
  throw_conversion(view, "dtype");
}

DLDevice Convert<DLDevice>::unpack(const AnyView& view) {
  if (view.code() == kTesseraDevice) return view.raw().v_device;
  throw_conversion(view, "Device");
}

void* Convert<void*>::unpack(const AnyView& view) {
  if (view.is_null()) return nullptr;
  if (view.code() == kTesseraHandle || view.code() == kTesseraDLTensor) return view.raw().v_handle;
  throw_conversion(view, "handle");
}

DLTensor* Convert<DLTensor*>::unpack(const AnyView& view) {
  if (view.is_null()) return nullptr;
  if (view.code() == kTesseraDLTensor || view.code() == kTesseraNDArray)
    return static_cast<DLTensor*>(view.raw().v_handle);
  throw_conversion(view, "tensor");
}

Any get_field(const Object* node, const Field& field) {
  switch (field.kind) {
    case FieldKind::Bool: return Any(field.at<bool>(node));
    case FieldKind::Int32: return Any(field.at<int32_t>(node));
    case FieldKind::Int64: return Any(field.at<int64_t>(node));
    case FieldKind::Double: return Any(field.at<double>(node));
    case FieldKind::DType: return Any(field.at<DataType>(node));
    case FieldKind::Ref: return Any::of_object(field.at<ObjectRef>(node).get());
  }
  return Any();
}

void set_field(Object* node, const Field& field, const AnyView& value) {
  switch (field.kind) {
    case FieldKind::Bool: field.at<bool>(node) = value.to<bool>(); return;
    case FieldKind::Int32: field.at<int32_t>(node) = value.to<int32_t>(); return;
    case FieldKind::Int64: field.at<int64_t>(node) = value.to<int64_t>(); return;
    case FieldKind::Double: field.at<double>(node) = value.to<double>(); return;
    case FieldKind::DType: field.at<DataType>(node) = value.to<DataType>(); return;
    case FieldKind::Ref: break;
  }
  ObjectRef held = box(value);
  if (held ? !field.accepts(held.get()) : !(field.flags & Optional))
    throw Error(TypeError) << node->type_key() << "." << field.name << ": expected " << field.expects() << ", got "
                           << value.type_name();
  field.at<ObjectRef>(node) = held;
}

}  // namespace tessera
