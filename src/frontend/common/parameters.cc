#include "frontend/common/parameters.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/rewrite.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::frontend {

relay::Expr with_parameters(const relay::Expr& root, const std::vector<std::pair<std::string, relay::Expr>>& constants,
                            Array<relay::Var>* variables, Map<String, NDArray>* params) {
  std::unordered_map<const Object*, const std::string*> names;
  for (const auto& [name, constant] : constants)
    if (auto* known = constant.as<relay::Constant>(); known && !known->data.shape().empty())
      names.emplace(constant.get(), &name);
  std::unordered_set<std::string> taken;
  for (const relay::Var& variable : *variables) taken.insert(variable->name_hint().str());
  std::unordered_map<const Object*, relay::Var> made;
  return tessera::rewrite(root, [&](const relay::Constant* constant) -> relay::Expr {
    auto name = names.find(constant);
    if (name == names.end()) return relay::Expr(constant);
    auto [it, is_new] = made.try_emplace(constant);
    if (is_new) {
      std::string unique = name->second->empty() ? "_param" : *name->second;
      for (int i = 1; !taken.insert(unique).second; ++i) unique = *name->second + "_" + std::to_string(i);
      it->second = relay::make_local(String(unique), relay::type_of(relay::Expr(constant)));
      variables->push_back(it->second);
      params->set(String(unique), constant->data);
    }
    return it->second;
  });
}

IRModule module_of_main(const Array<relay::Var>& params, const relay::Expr& body, const DictAttrs& attrs) {
  GlobalVarNode main;
  main.name_hint = "main";
  IRModule out;
  out.update(make(std::move(main)), relay::make_function(params, body, nullptr, {}, attrs));
  return out;
}

}  // namespace tessera::frontend
