// Facts about compiled models: packages and library files. Their code is neither loaded nor run.

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "codegen/schedule_rule_symbol.h"
#include "driver/cli/cli.h"
#include "driver/cli/inspect/facts.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/features.h"
#include "runtime/graph_executor/graph.h"
#include "runtime/module/elf_symbols.h"
#include "runtime/package/package.h"
#include "runtime/package/params.h"
#include "runtime/vm/executable.h"

namespace tessera::cli {
namespace {

/// Stands for the code of a library whose other parts are looked at.
class UnloadedCode final : public ModuleBody {
 public:
  std::string type_key() const override { return "library"; }
  PackedFunc get_function(const std::string&, const Module&) override { return nullptr; }
};

void add_parameters(const Map<String, NDArray>& params, Facts* facts) {
  for (const auto& [_, tensor] : params) {
    facts->parameter_tensors += 1;
    facts->parameters += tensor.size();
    facts->parameter_bytes += static_cast<uint64_t>(tensor.size()) * tensor.dtype().bytes();
  }
}

std::string kernels_text(size_t kernels, size_t calls) {
  return std::to_string(kernels) + ", called " + std::to_string(calls) + " times in a run";
}

/// One more call of a kernel, for these nodes of the model.
void add_call(const std::string& name, const std::string& nodes, std::map<std::string, OperatorFact>* kernels) {
  OperatorFact& kernel = (*kernels)[name];
  kernel.name = name;
  kernel.count += 1;
  if (!nodes.empty()) kernel.nodes.push_back(nodes);
}

void add_graph(std::string_view json, const Map<String, NDArray>& params, Facts* facts) {
  Graph graph = Graph::parse(json);
  auto fact = [&](const std::string& name, uint32_t entry) -> TensorFact {
    return {name, to_text(graph.entries[entry].dtype), true, graph.entries[entry].shape};
  };
  for (uint32_t node : graph.inputs)
    if (!params.count(String(graph.nodes[node].name)))
      facts->inputs.push_back(fact(graph.nodes[node].name, graph.first_entry[node]));
  for (const Graph::Value& output : graph.outputs)
    facts->outputs.push_back(fact(graph.output_names[facts->outputs.size()], graph.entry(output)));
  std::map<uint32_t, uint64_t> storages;  // the bytes of each: values share them
  size_t calls = 0;
  std::map<std::string, OperatorFact> kernels;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].is_input()) continue;
    if (graph.nodes[node].function != "__nop")
      ++calls, add_call(graph.nodes[node].function, graph.nodes[node].source_nodes, &kernels),
          kernels[graph.nodes[node].function].rule = graph.nodes[node].schedule_rule;
    for (uint32_t entry = graph.first_entry[node]; entry < graph.first_entry[node + 1]; ++entry) {
      uint64_t bytes = graph.entries[entry].dtype.bytes();
      for (int64_t extent : graph.entries[entry].shape) bytes *= static_cast<uint64_t>(extent);
      uint64_t& storage = storages[graph.entries[entry].storage];
      storage = std::max(storage, bytes);
    }
  }
  uint64_t memory = 0;
  for (const auto& [_, bytes] : storages) memory += bytes;
  facts->notes.emplace_back("executor", "graph");
  facts->note("kernels", kernels_text(kernels.size(), calls),
              JsonObject{{"count", json_value(static_cast<int64_t>(kernels.size()))},
                         {"calls", json_value(static_cast<int64_t>(calls))}});
  facts->note("memory", std::to_string(memory) + " bytes for values in a run, parameters left out",
              json_value(static_cast<int64_t>(memory)));
  add_parameters(params, facts);
  for (const auto& [name, kernel] : kernels) facts->operators.push_back(kernel);
}

void add_program(const Module& executable, Facts* facts) {
  std::shared_ptr<const vm::Program> program = vm::program_of(executable);
  facts->notes.emplace_back("executor", "vm");
  facts->note("kernels", std::to_string(program->primitives.size()),
              JsonObject{{"count", json_value(static_cast<int64_t>(program->primitives.size()))}});
  for (const vm::Parameter& param : program->functions[program->index_of("main")].params)
    facts->inputs.push_back({param.name, param.is_tensor ? to_text(param.dtype) : "", param.is_tensor, param.shape});
  for (const vm::Parameter& result : program->functions[program->index_of("main")].results)
    facts->outputs.push_back({result.name, to_text(result.dtype), true, result.shape});
  std::map<std::string, OperatorFact> kernels;
  for (const vm::Function& function : program->functions)
    for (const vm::Instruction& in : function.code)
      if (in.op == vm::Opcode::InvokePacked)
        add_call(program->primitives[static_cast<size_t>(in.a)],
                 in.source < 0 ? "" : program->sources[static_cast<size_t>(in.source)], &kernels);
  for (const auto& [_, kernel] : kernels) facts->operators.push_back(kernel);
  for (const NDArray& constant : program->constants)
    if (constant.defined()) add_parameters({{"", constant}}, facts);
}

/// What the code is for: "x86_64", "avx2,fma for haswell".
void add_machine(std::string_view library, Facts* facts) {
  facts->notes.emplace_back("machine", elf_architecture(library));
  Array<ObjectRef> all;
  for (const std::string& needs : cpu_needs_of(library)) {
    facts->notes.emplace_back("needs", needs);
    const size_t end = needs.find(" for ");
    all.push_back(JsonObject{{"features", json_list(split_list(needs.substr(0, end)))},
                             {"cpu", String(end == needs.npos ? "" : needs.substr(end + 5))}});
  }
  facts->values.set("needs", all);
}

/// The modules that are packed into a library, its code left out; empty where there are none.
Module packed_modules(std::string_view library, const std::string& path) {
  std::optional<std::string_view> blob = elf_data(library, "__tvm_dev_mblob");
  uint64_t bytes = 0;
  if (!blob || blob->size() < sizeof bytes) return nullptr;
  std::memcpy(&bytes, blob->data(), sizeof bytes);
  if (bytes > blob->size() - sizeof bytes)
    throw Error(ValueError) << "corrupt modules in " << path << ": they announce " << bytes << " bytes";
  return unpack_imports(blob->substr(sizeof bytes, bytes), make_module<UnloadedCode>(), "modules in " + path);
}

/// The schedule rules of kernels, which the library names, with their plans; graphs of models with node names name rules too.
void add_rules(std::string_view library, Facts* facts) {
  auto text_of = [&](const std::string& symbol) {
    std::optional<std::string_view> data = elf_data(library, symbol);
    return data ? std::string(data->substr(0, data->find('\0'))) : std::string();
  };
  for (OperatorFact& kernel : facts->operators) {
    if (kernel.rule.empty()) kernel.rule = text_of(codegen::kScheduleRuleSymbol + kernel.name);
    const std::string plans = text_of(codegen::kSchedulePlansSymbol + kernel.name);
    for (size_t from = 0, end = 0; (end = plans.find('\n', from)) != plans.npos; from = end + 1)
      kernel.plans.push_back(plans.substr(from, end - from));
  }
}

void add_modules(std::string_view library, const std::string& path, Facts* facts) {
  Module root = packed_modules(library, path);
  if (!root) return;
  std::string devices;
  for (const Module& module : reachable_modules(root)) {
    std::string key = module->type_key();
    if (key == "GraphExecutorFactory") {
      auto json = module.get_function("get_graph_json")().to<std::string>();
      add_graph(json, module.get_function("get_graph_params")().to<Map<String, NDArray>>(), facts);
    } else if (key == "VMExecutable") {
      add_program(module, facts);
    } else if (key != "library") {
      devices += (devices.empty() ? "" : ", ") + key;
    }
  }
  if (!devices.empty()) facts->notes.emplace_back("modules", devices);
}

}  // namespace

Facts facts_of_package(const std::string& path) {
  Package package(path);
  Facts out{.path = path,
            .format = std::string("package, ") + package.kind_name(),
            .file_bytes = std::filesystem::file_size(path)};
  for (const TarReader::Member& member : package.archive.members())
    out.members.emplace_back(member.name, member.bytes.size());
  if (!package.variants.empty()) {
    std::vector<std::string> cpus;
    for (const Package::Variant& variant : package.variants) cpus.push_back(variant.cpu);
    const Package::Variant& chosen = package.variants[package.chosen];
    out.note("cpus",
             fmt::format("{}; {} here", fmt::join(cpus, ", "), chosen.runs_here() ? chosen.cpu : "none of them"),
             json_list(cpus));
    if (chosen.runs_here()) out.values.set("chosen_cpu", String(chosen.cpu));
  }
  const bool has_code = package.library.ends_with(".so");
  std::string_view library = has_code ? package.archive[package.library] : std::string_view();
  if (has_code) {
    add_machine(library, &out);
    add_modules(library, path + "/" + package.library, &out);
  }
  if (package.kind == Package::Classic) add_graph(package.graph(), package.params(), &out);
  if (package.has_constants()) add_parameters(package.params(), &out);
  if (has_code) add_rules(library, &out);
  return out;
}

Facts facts_of_library(const std::string& path) {
  MappedFile file(path, "the library");
  Facts out{.path = path, .format = "library", .file_bytes = file.bytes().size()};
  add_machine(file.bytes(), &out);
  add_modules(file.bytes(), path, &out);
  add_rules(file.bytes(), &out);
  return out;
}

}  // namespace tessera::cli
