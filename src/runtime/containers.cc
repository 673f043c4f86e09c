#include "runtime/containers.h"

#include "runtime/registry.h"

namespace tessera {

ShapeTuple::ShapeTuple(std::vector<int64_t> values) : Ref(nullptr) {
  ShapeTupleNode node;
  node.values = std::move(values);
  *this = ShapeTuple(make(std::move(node)).get());
}

ShapeTuple Convert<ShapeTuple>::unpack(const AnyView& view) {
  if (view.is_null()) return nullptr;
  if (auto* shape = cast_or_null<ShapeTupleNode>(view.object())) return ShapeTuple(shape);
  auto* array = cast_or_null<ArrayNode>(view.object());
  if (!array) throw_conversion(view, name());
  std::vector<int64_t> values;
  for (const ObjectRef& item : array->items) values.push_back(Any::of_object(item.get()).to<int64_t>());
  return ShapeTuple(std::move(values));
}

namespace {

register_types<ShapeTupleNode, ADTNode> containers_types;

template <class Items>
auto item_at(const Items& items, int64_t i, const char* what) {
  if (i < 0 || i >= static_cast<int64_t>(items.size()))
    throw Error(IndexError) << "index " << i << " in " << what << " of " << items.size() << " items";
  return items[static_cast<size_t>(i)];
}

void make_shape(Args args, Any* result) {
  std::vector<int64_t> values;
  for (int i = 0; i < args.size(); ++i) values.push_back(args[i].to<int64_t>());
  *result = Any(ShapeTuple(std::move(values)));
}

ADT make_adt(int tag, std::vector<ObjectRef> values) {
  ADTNode node;
  node.tag = tag;
  node.values = std::move(values);
  return make(std::move(node));
}

// (tag, number of fields, fields ...)
void adt_of(Args args, Any* result) {
  auto count = args[1].to<int>();
  if (count != args.size() - 2)
    throw Error(ValueError) << "runtime.ADT: " << count << " fields announced, " << args.size() - 2 << " given";
  std::vector<ObjectRef> values;
  for (int i = 2; i < args.size(); ++i) values.push_back(box(args[i]));
  *result = Any(make_adt(args[0].to<int>(), std::move(values)));
}

void tuple_of(Args args, Any* result) {
  std::vector<ObjectRef> values;
  for (int i = 0; i < args.size(); ++i) values.push_back(box(args[i]));
  *result = Any(make_adt(0, std::move(values)));
}

Globals containers_globals{
    {"runtime.ShapeTuple", make_shape},
    {"runtime.GetShapeTupleSize", [](ShapeTuple shape) { return shape->values.size(); }},
    {"runtime.GetShapeTupleElem", [](ShapeTuple shape, int64_t i) { return item_at(shape->values, i, "a shape"); }},
    {"runtime.ADT", adt_of},
    {"runtime.Tuple", tuple_of},
    {"runtime.GetADTTag", [](ADT adt) { return adt->tag; }},
    {"runtime.GetADTSize", [](ADT adt) { return adt->values.size(); }},
    {"runtime.GetADTFields", [](ADT adt, int64_t i) { return item_at(adt->values, i, "a tuple"); }},
};

}  // namespace
}  // namespace tessera
