#include "runtime/external/const_loader.h"

#include <mutex>
#include <unordered_set>

#include "runtime/package/params.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

class ConstLoader final : public ModuleBody {
 public:
  explicit ConstLoader(LateConstants constants) : constants_(std::move(constants)) {}

  std::string type_key() const override { return "const_loader"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (constants_.names.count(String(name))) initialize(name, self);
    for (const auto& import : self.imports())
      if (PackedFunc found = Module(import).get_function(name, true)) return found;
    return nullptr;
  }

  void save_to_binary(ByteWriter& out) override {
    out.write(save_params(constants_.values));
    out.write(uint64_t{constants_.names.size()});
    for (const auto& [symbol, names] : constants_.names) {
      out.write(symbol.str());
      out.write(uint64_t{names.size()});
      for (const String& name : names) out.write(name.str());
    }
  }

 private:
  void initialize(const std::string& symbol, const Module& self) {
    std::lock_guard lock(mutex_);
    if (ready_.count(symbol)) return;
    Array<NDArray> values;
    for (const String& name : constants_.names[String(symbol)]) values.push_back(constants_.values[name]);
    for (const auto& import : self.imports()) {
      PackedFunc init = Module(import).get_function("__init_" + symbol, true);
      if (!init) continue;
      init(values);
      ready_.insert(symbol);
      return;
    }
    throw Error(RuntimeError) << "no module has __init_" << symbol << ", which takes the constants of " << symbol;
  }

  LateConstants constants_;
  std::mutex mutex_;
  std::unordered_set<std::string> ready_;
};

Module load_const_loader(void* stream) {
  auto& in = *static_cast<ByteReader*>(stream);
  LateConstants out;
  out.values = load_params(in.read_string("the constants"));
  for (size_t left = in.read_count(16, "the functions with constants"); left > 0; --left) {
    String symbol(in.read_string("a symbol"));
    Array<String> names;
    for (size_t n = in.read_count(8, "names of constants"); n > 0; --n) {
      names.push_back(String(in.read_string("the name of a constant")));
      if (!out.values.count(names.back())) in.fail("the name of a constant", "names none that is there");
    }
    out.names.set(symbol, names);
  }
  return make_const_loader(std::move(out));
}

Globals const_loader_globals{{"runtime.module.loadbinary_const_loader", load_const_loader}};

}  // namespace

Module make_const_loader(LateConstants constants) { return make_module<ConstLoader>(std::move(constants)); }

}  // namespace tessera
