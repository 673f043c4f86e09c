#include "runtime/module/kernel.h"

#include "base/json.h"
#include "runtime/api_version.h"
#include "runtime/archive/files.h"

namespace tessera {
namespace {

/// The size that a tag names in a launch; null for dynamic shared memory.
size_t* size_of(LaunchSize* size, const std::string& tag) {
  for (auto [prefix, sizes] : {std::pair("blockIdx.", size->grid), std::pair("threadIdx.", size->block)})
    if (tag.size() == std::string_view(prefix).size() + 1 && tag.starts_with(prefix) && tag.back() >= 'x' &&
        tag.back() <= 'z')
      return &sizes[tag.back() - 'x'];
  if (tag == kDynamicSharedMemoryTag) return &size->dynamic_shared_bytes;
  throw Error(ValueError) << "a kernel cannot be launched over \"" << tag
                          << "\"; threads are called blockIdx.x to z and threadIdx.x to z";
}

constexpr const char *kCheckedIndexTag = "tessera.checked_index: ", *kTensorMapTag = "tessera.tensor_map: ";

std::vector<std::string> tags_of(const KernelInfo& info) {
  std::vector<std::string> out = info.launch_tags;
  for (const std::string& text : info.checked_indices) out.push_back(kCheckedIndexTag + text);
  for (const std::string& text : info.tensor_maps) out.push_back(kTensorMapTag + text);
  return out;
}

void set_tags(KernelInfo* info, std::vector<std::string> tags) {
  for (std::string& tag : tags) {
    if (tag.starts_with(kCheckedIndexTag))
      info->checked_indices.push_back(tag.substr(std::string_view(kCheckedIndexTag).size()));
    else if (tag.starts_with(kTensorMapTag))
      info->tensor_maps.push_back(tag.substr(std::string_view(kTensorMapTag).size()));
    else info->launch_tags.push_back(std::move(tag));
  }
}

template <class T>
uint64_t bits_of(T value) {
  uint64_t out = 0;
  std::memcpy(&out, &value, sizeof value);
  return out;
}

std::string meta_path(const std::string& path) {
  size_t dot = path.rfind('.');
  return (dot == path.npos || path.find('/', dot) != path.npos ? path : path.substr(0, dot)) + ".tvm_meta.json";
}

std::string read_file(const std::string& path) { return std::string(MappedFile(path, "the kernels").bytes()); }

ObjectRef field(const ObjectRef& map, const char* key, const std::string& path) {
  auto* node = map.as<MapNode>();
  ObjectRef out = node ? Map<String, ObjectRef>(node).get_or_null(key) : ObjectRef();
  if (!out) throw Error(ValueError) << path << " is no table of kernels: it has no \"" << key << "\"";
  return out;
}

std::vector<std::string> texts(const ObjectRef& list, const std::string& path) {
  std::vector<std::string> out;
  auto* node = list.as<ArrayNode>();
  for (size_t i = 0; node && i < node->items.size(); ++i) {
    String text = downcast_or_null<String>(node->items[i]);
    if (!text) throw Error(ValueError) << path << " is no table of kernels: a name is expected";
    out.push_back(text.str());
  }
  return out;
}

Array<String> as_array(const std::vector<std::string>& texts) {
  Array<String> out;
  for (const std::string& text : texts) out.push_back(text);
  return out;
}

}  // namespace

LaunchSize launch_size(const KernelInfo& info, Args args) {
  size_t wanted = info.arg_types.size() + info.launch_tags.size();
  if (static_cast<size_t>(args.count) != wanted)
    throw Error(TypeError) << "kernel " << info.name << " takes " << info.arg_types.size() << " arguments and "
                           << info.launch_tags.size() << " launch sizes, not " << args.count << " values";
  LaunchSize out;
  for (size_t i = 0; i < info.launch_tags.size(); ++i) {
    auto value = args[static_cast<int>(info.arg_types.size() + i)].to<int64_t>();
    if (value < 0) throw Error(ValueError) << "kernel " << info.name << ": " << info.launch_tags[i] << " is " << value;
    *size_of(&out, info.launch_tags[i]) = static_cast<size_t>(value);
  }
  return out;
}

uint64_t kernel_argument(const KernelInfo& info, Args args, size_t i) {
  DataType dtype = info.arg_types[i];
  AnyView arg = args[static_cast<int>(i)];
  if (dtype.is_handle()) return bits_of(arg.to<void*>());
  if (dtype.is_float() && dtype.bits == 64) return bits_of(arg.to<double>());
  if (dtype.is_float() && dtype.bits == 32) return bits_of(arg.to<float>());
  if (dtype.is_integral() && dtype.lanes == 1) return bits_of(arg.to<int64_t>());
  throw Error(NotImplementedError) << "kernel " << info.name << ": argument " << i << " is a " << dtype
                                   << "; scalars are passed as integers, float32 or float64";
}

void write_kernels(const KernelTable& kernels, ByteWriter& out) {
  out.write(uint64_t{kernels.size()});
  for (const auto& [name, info] : kernels) {
    out.write(name);
    out.write(info.name);
    out.write(uint64_t{info.arg_types.size()});
    for (DataType dtype : info.arg_types) {
      out.write(dtype.code);
      out.write(dtype.bits);
      out.write(dtype.lanes);
    }
    std::vector<std::string> tags = tags_of(info);
    out.write(uint64_t{tags.size()});
    for (const std::string& tag : tags) out.write(tag);
  }
}

KernelTable read_kernels(ByteReader& in) {
  KernelTable out;
  size_t count = in.read_count(sizeof(uint64_t), "the number of kernels");
  for (size_t i = 0; i < count; ++i) {
    std::string name = in.read_string("a kernel's name");
    KernelInfo& info = out[name];
    info.name = in.read_string("a kernel's name");
    size_t args = in.read_count(4, "a kernel's arguments");
    for (size_t k = 0; k < args; ++k) {
      auto code = in.read<uint8_t>("a kernel's arguments");
      auto bits = in.read<uint8_t>("a kernel's arguments");
      info.arg_types.emplace_back(code, bits, in.read<uint16_t>("a kernel's arguments"));
    }
    std::vector<std::string> tags(in.read_count(sizeof(uint64_t), "a kernel's launch tags"));
    for (std::string& tag : tags) tag = in.read_string("a kernel's launch tags");
    set_tags(&info, std::move(tags));
  }
  return out;
}

void write_kernel_file(const std::string& path, const std::string& code, const KernelTable& kernels) {
  Map<String, ObjectRef> table;
  for (const auto& [name, info] : kernels) {
    std::vector<std::string> types;
    for (DataType dtype : info.arg_types) types.push_back(dtype.str());
    table.set(name, Map<String, ObjectRef>{{"name", String(info.name)},
                                           {"arg_types", as_array(types)},
                                           {"launch_param_tags", as_array(tags_of(info))}});
  }
  write_whole_file(path, code);
  write_whole_file(meta_path(path),
                   to_json(Map<String, ObjectRef>{{"tvm_version", String(kApiVersion)}, {"func_info", table}}));
}

std::pair<std::string, KernelTable> read_kernel_file(const std::string& path) {
  std::string meta = meta_path(path);
  ObjectRef table = field(parse_json(read_file(meta)), "func_info", meta);
  auto* rows = table.as<MapNode>();
  if (!rows) throw Error(ValueError) << meta << " is no table of kernels";
  KernelTable kernels;
  for (const auto& [key, row] : rows->entries) {
    KernelInfo info;
    String name = downcast_or_null<String>(field(row, "name", meta));
    if (!name) throw Error(ValueError) << meta << " is no table of kernels: a name is expected";
    info.name = name.str();
    for (const std::string& type : texts(field(row, "arg_types", meta), meta)) info.arg_types.emplace_back(type);
    set_tags(&info, texts(field(row, "launch_param_tags", meta), meta));
    kernels[info.name] = info;
  }
  return {read_file(path), kernels};
}

}  // namespace tessera
