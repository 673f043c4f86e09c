#include "relay/dim_names.h"

namespace tessera::relay {

std::vector<std::string> dim_names(const Function& function, const Var& param) {
  std::vector<std::string> out;
  auto* tensor = checked_type(param).as<TensorTypeNode>();
  auto names = downcast_or_null<Map<String, Array<String>>>(function->attrs.get_attr(attr::kDimNames));
  if (!tensor || !names || !names.count(String(param->name_hint()))) return out;
  for (const String& name : names[String(param->name_hint())]) out.push_back(name.str());
  if (out.size() != tensor->shape.size()) out.clear();
  return out;
}

}  // namespace tessera::relay
