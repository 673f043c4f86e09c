#include "relay/output_names.h"

#include "runtime/package/model_names.h"

namespace tessera::relay {

std::vector<std::string> output_names(const FunctionNode* main, size_t count) {
  std::vector<std::string> out;
  ObjectRef given = main->attrs.get_attr(kOutputNames);
  if (auto* names = given.as<ArrayNode>(); names && names->items.size() == count)
    for (const ObjectRef& name : names->items)
      if (auto* text = name.as<StringNode>()) out.push_back(text->text);
  if (out.size() == count) return out;
  out.clear();
  for (size_t i = 0; i < count; ++i) out.push_back(output_name(i));
  return out;
}

}  // namespace tessera::relay
