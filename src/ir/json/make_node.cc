// node.MakeNode(type_key, name, value, ...): a node by the name of its type and of its fields.

#include "ir/attrs.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

std::string field_names(const TypeInfo* type) {
  std::string out;
  for (const Field& field : type->fields()) out += (out.empty() ? "" : ", ") + std::string(field.name);
  return out;
}

void make_node(Args args, Any* result) {
  if (args.size() % 2 != 1) throw Error(TypeError) << "make_node: a type key, then names and values in turn";
  auto key = args[0].to<std::string>();
  const TypeInfo* type = find_type(key);
  if (!type) throw Error(ValueError) << "make_node: there is no node type " << quoted(key);
  if (type->fields().empty())
    throw Error(TypeError) << "make_node: " << key << " has no fields and cannot be made by name";
  if (type->node == &DictAttrsNode::info) {  // its fields are its entries
    Map<String, ObjectRef> entries;
    for (int i = 1; i < args.size(); i += 2) entries.set(args[i].to<String>(), box(args[i + 1]));
    return void(*result = Any(DictAttrs(entries)));
  }
  ObjectRef node(type->create());
  std::vector<std::string> given;
  for (int i = 1; i < args.size(); i += 2) {
    given.push_back(args[i].to<std::string>());
    const Field* field = type->find(given.back());
    if (!field)
      throw Error(AttributeError) << "make_node: " << key << " has no field " << quoted(given.back())
                                  << "; its fields are " << field_names(type);
    set_field(node.edit(), *field, args[i + 1]);
  }
  for (const Field& field : type->fields()) {
    bool is_open = field.kind == FieldKind::Ref && !(field.flags & Optional) && !field.at<ObjectRef>(node.get());
    if (is_open) throw Error(ValueError) << "make_node: " << key << " needs a value for " << quoted(field.name);
  }
  *result = Any::of_object(node.get());
}

}  // namespace

static Globals make_node_globals{
    {"node.MakeNode", make_node},
};

}  // namespace tessera
