// Numbers as objects where the compiler, whose number nodes serve otherwise, is not there.

#include "base/any.h"

namespace tessera {
namespace {

struct BoxedInt : Object {
  int64_t value = 0;
  static constexpr NodeInfo info{"runtime.BoxedInt", &Object::info};
  static void fields(auto f) { f("value", &BoxedInt::value); }
};

struct BoxedFloat : Object {
  double value = 0;
  static constexpr NodeInfo info{"runtime.BoxedFloat", &Object::info};
  static void fields(auto f) { f("value", &BoxedFloat::value); }
};

register_types<BoxedInt, BoxedFloat> number_boxes_types;

ObjectRef box_int(int64_t value) {
  BoxedInt box;
  box.value = value;
  return make(std::move(box));
}

ObjectRef box_float(double value) {
  BoxedFloat box;
  box.value = value;
  return make(std::move(box));
}

ObjectRef box_bool(bool value) { return box_int(value); }

bool unbox_int(const Object* object, int64_t* out) {
  auto* box = cast_or_null<BoxedInt>(object);
  if (box) *out = box->value;
  return box != nullptr;
}

bool unbox_float(const Object* object, double* out) {
  if (auto* box = cast_or_null<BoxedFloat>(object)) return *out = box->value, true;
  int64_t integer;
  if (!unbox_int(object, &integer)) return false;
  *out = static_cast<double>(integer);
  return true;
}

}  // namespace

constinit NumberBoxes number_boxes{box_int, box_float, box_bool, unbox_int, unbox_float};

}  // namespace tessera
