#include "frontend/torch/pt2.h"

#include <cstring>

#include "frontend/torch/json_values.h"
#include "frontend/torch/pickled_tensors.h"
#include "frontend/torch/pt2_graph.h"
#include "runtime/archive/zip.h"

namespace tessera::torch {
namespace {

/// The members of a file, by their names without the folder that all lie in.
class Pt2Archive {
 public:
  Pt2Archive(std::string_view bytes, const std::string& what) : members_(read_zip(bytes, what)), what_(what) {}

  static std::string inner_name(const std::string& name) {
    size_t slash = name.find('/');
    return slash == std::string::npos ? name : name.substr(slash + 1);
  }
  const ZipMember* find(const std::string& name) const {
    for (const ZipMember& member : members_)
      if (member.name == name || inner_name(member.name) == name) return &member;
    return nullptr;
  }
  /// The one member of a folder whose name ends so.
  const ZipMember* find_in(const std::string& folder, const std::string& end) const {
    for (const ZipMember& member : members_)
      if (std::string name = inner_name(member.name); name.starts_with(folder) && name.ends_with(end)) return &member;
    return nullptr;
  }
  std::string text(const ZipMember& member) const {
    constexpr uint64_t kMaxText = uint64_t{1} << 30;
    if (member.size > kMaxText) throw Error(ValueError) << what_ << ": " << member.name << " is too large";
    std::string out(static_cast<size_t>(member.size), '\0');
    unpack(member, out.data(), what_);
    return out;
  }
  const std::string& what() const { return what_; }

 private:
  std::vector<ZipMember> members_;
  const std::string& what_;
};

std::vector<int64_t> known_extents(const ObjectRef& list) {
  std::vector<int64_t> out;
  for (const ObjectRef& one : list_in(list, "sizes")) {
    if (one.as<MapNode>()) out.push_back(integer_in(needed_entry(one, "as_int"), "an extent"));
    else out.push_back(integer_in(one, "an extent"));
  }
  return out;
}

/// The tensors that a list of the file names, each in a member of its own.
void add_listed_tensors(const Pt2Archive& archive, const char* folder, const char* config,
                        std::unordered_map<std::string, NDArray>* out) {
  const ZipMember* list = archive.find_in(folder, config);
  if (!list) return;
  ObjectRef root = parse_json(archive.text(*list)), entries = needed_entry(root, "config");
  auto* map = entries.as<MapNode>();
  if (!map) bad_graph("the list of weights is no object");
  for (const auto& [key, entry] : map->entries) {
    const std::string name = text_in(key, "the name of a weight"), path = folder + text_entry(entry, "path_name");
    const ZipMember* member = archive.find(path);
    if (!member)
      throw Error(ValueError) << archive.what() << ": the weight " << name << " is in " << path
                              << ", which is not there";
    ObjectRef pickled = find_entry(entry, "use_pickle"), meta = find_entry(entry, "tensor_meta");
    if (auto* number = pickled.as<IntImm>(); (number && number->value) || !meta) {
      for (auto& [_, tensor] : read_pickled_tensors(archive.text(*member), archive.what())) out->emplace(name, tensor);
      continue;
    }
    StoredTensor stored;
    stored.dtype = element_type_of(scalar_type_of_export(integer_in(needed_entry(meta, "dtype"), "an element type")));
    stored.shape = known_extents(find_entry(meta, "sizes"));
    stored.strides = known_extents(find_entry(meta, "strides"));
    if (ObjectRef offset = find_entry(meta, "storage_offset")) {
      stored.offset = offset.as<MapNode>() ? integer_in(needed_entry(offset, "as_int"), "an offset")
                                           : integer_in(offset, "an offset");
    }
    out->emplace(name, tensor_from_storage(*member, stored, archive.what() + ": the weight " + name));
  }
}

}  // namespace

bool is_pt2(std::string_view bytes) {
  if (!bytes.starts_with("PK")) return false;
  try {
    const std::string what = "the model";
    Pt2Archive archive(bytes, what);
    return archive.find_in("models/", ".json") || archive.find("serialized_exported_program.json");
  } catch (const Error&) {
    return false;
  }
}

bool is_torch_archive(std::string_view bytes) {
  if (!bytes.starts_with("PK")) return false;
  try {
    const std::string what = "the model";
    Pt2Archive archive(bytes, what);
    return archive.find("data.pkl") || archive.find("constants.pkl");
  } catch (const Error&) {
    return false;
  }
}

Program read_pt2(std::string_view bytes, const std::string& what) {
  Pt2Archive archive(bytes, what);
  const ZipMember* graph = archive.find("models/model.json");
  if (!graph) graph = archive.find_in("models/", ".json");
  const bool is_listed = graph != nullptr;
  if (!graph) graph = archive.find("serialized_exported_program.json");
  if (!graph) throw Error(ValueError) << what << " has no program of torch.export";
  ExportedProgramText text = read_exported_graph(archive.text(*graph));
  std::unordered_map<std::string, NDArray> tensors;
  if (is_listed) {
    add_listed_tensors(archive, "data/weights/", "weights_config.json", &tensors);
    add_listed_tensors(archive, "data/constants/", "constants_config.json", &tensors);
    for (const char* name : {"data/weights/model.pt", "data/constants/model.pt"})
      if (const ZipMember* member = archive.find(name))
        for (auto& [own, tensor] : read_pickled_tensors(archive.text(*member), what)) tensors.emplace(own, tensor);
  } else {
    for (const char* name : {"serialized_state_dict.pt", "serialized_state_dict.json", "serialized_constants.pt",
                             "serialized_constants.json"})
      if (const ZipMember* member = archive.find(name); member && member->size > 0)
        for (auto& [own, tensor] : read_pickled_tensors(archive.text(*member), what)) tensors.emplace(own, tensor);
  }
  Program out = std::move(text.program);
  std::vector<Node> bindings;
  for (const auto& [name, source] : text.weights) {
    auto found = tensors.find(source);
    if (found == tensors.end()) throw Error(ValueError) << what << ": the weight " << source << " is not in the file";
    out.weights.emplace(source, found->second);
    Node binding;
    binding.op = "prim::unchecked_cast";  // a name for the weight
    binding.label = source;
    Argument weight;
    weight.kind = Argument::Weight;
    weight.text = source;
    binding.args.emplace_back("0", weight);
    Result result;
    result.name = name;
    binding.results.push_back(result);
    bindings.push_back(std::move(binding));
  }
  out.graph.nodes.insert(out.graph.nodes.begin(), bindings.begin(), bindings.end());
  return out;
}

}  // namespace tessera::torch
