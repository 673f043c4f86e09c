#include "frontend/tensorflow/graph.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "frontend/tensorflow/protobuf.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {
namespace {

using frontend::for_each_number;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int kMaxParts = 4'000'000;
constexpr int kString = 7;

std::string_view view(pbf_reader& in) { return frontend::next_view(in); }

template <class F>
auto checked(F&& parse) {
  return frontend::read_wire("the TensorFlow graph", parse, damaged);
}

/// An entry of a map: its key and its value.
std::pair<std::string_view, std::string_view> entry(pbf_reader in) {
  std::pair<std::string_view, std::string_view> out;
  while (in.next()) switch (in.tag()) {
      case 1: out.first = view(in); break;
      case 2: out.second = view(in); break;
      default: in.skip();
    }
  return out;
}

class Reader {
 public:
  GraphDef graph(pbf_reader in) {
    GraphDef out;
    while (in.next()) switch (in.tag()) {
        case 1: out.nodes.push_back(node(in.get_message())); break;
        case 2:
          for (pbf_reader library = in.get_message(); library.next();) {
            if (library.tag() != 1) {
              library.skip();
              continue;
            }
            FunctionDef one = function(library.get_message());
            out.functions.emplace(one.name, std::move(one));
          }
          break;
        default: in.skip();
      }
    return out;
  }

  MetaGraph meta_graph(pbf_reader in) {
    MetaGraph out;
    while (in.next()) switch (in.tag()) {
        case 1:
          for (pbf_reader info = in.get_message(); info.next();) {
            if (info.tag() == 4) out.tags.push_back(view(info));
            else info.skip();
          }
          break;
        case 2: out.graph = graph(in.get_message()); break;
        case 5: {
          auto [key, value] = entry(in.get_message());
          out.signatures.push_back(signature(key, frontend::reader_of(value)));
          break;
        }
        default: in.skip();
      }
    return out;
  }

 private:
  NodeDef node(pbf_reader in) {
    if (++parts_ > kMaxParts) damaged("it has more than four million nodes");
    NodeDef out;
    while (in.next()) switch (in.tag()) {
        case 1: out.name = view(in); break;
        case 2: out.op = view(in); break;
        case 3: out.inputs.push_back(view(in)); break;
        case 5: out.attributes.push_back(entry(in.get_message())); break;
        default: in.skip();
      }
    return out;
  }

  FunctionDef function(pbf_reader in) {
    FunctionDef out;
    while (in.next()) switch (in.tag()) {
        case 1: arguments(in.get_message(), &out); break;
        case 3: out.nodes.push_back(node(in.get_message())); break;
        case 4: out.results.insert(entry(in.get_message())); break;
        default: in.skip();
      }
    return out;
  }
  static void arguments(pbf_reader in, FunctionDef* out) {
    auto name_of = [](pbf_reader argument) {
      std::string_view name;
      while (argument.next()) {
        if (argument.tag() == 1) name = view(argument);
        else argument.skip();
      }
      return name;
    };
    while (in.next()) switch (in.tag()) {
        case 1: out->name = view(in); break;
        case 2: out->inputs.push_back(name_of(in.get_message())); break;
        case 3: out->outputs.push_back(name_of(in.get_message())); break;
        default: in.skip();
      }
  }

  static SignatureDef signature(std::string_view key, pbf_reader in) {
    SignatureDef out{key, {}, {}};
    auto add = [](std::vector<std::pair<std::string_view, std::string_view>>* list, pbf_reader given) {
      auto [name, info] = entry(given);
      std::string_view tensor;
      for (pbf_reader fields = frontend::reader_of(info); fields.next();) {
        if (fields.tag() == 1) tensor = view(fields);
        else fields.skip();
      }
      list->emplace_back(name, tensor);
    };
    while (in.next()) switch (in.tag()) {
        case 1: add(&out.inputs, in.get_message()); break;
        case 2: add(&out.outputs, in.get_message()); break;
        default: in.skip();
      }
    std::sort(out.inputs.begin(), out.inputs.end());
    std::sort(out.outputs.begin(), out.outputs.end());
    return out;
  }

  int parts_ = 0;
};

// ---- tensors --------------------------------------------------------------------------------------------------------

Value tensor(std::string_view bytes) {
  int64_t number = 0;
  std::vector<int64_t> shape;
  std::string_view content;
  std::vector<double> reals;
  std::vector<int64_t> integers;  // also the bits of fp16
  std::vector<std::string> texts;
  bool has_bits = false;
  auto integer = [&](auto value) { integers.push_back(static_cast<int64_t>(value)); };
  auto real = [&](auto value) { reals.push_back(static_cast<double>(value)); };
  pbf_reader in = frontend::reader_of(bytes);
  while (in.next()) switch (in.tag()) {
      case 1: number = in.get_enum(); break;
      case 2: {
        std::optional<std::vector<int64_t>> given = parse_shape(view(in));
        if (!given) damaged("a constant has no shape");
        shape = *given;
        break;
      }
      case 4: content = view(in); break;
      case 5: for_each_number(in, [&] { return in.get_float(); }, [&] { return in.get_packed_float(); }, real); break;
      case 6: for_each_number(in, [&] { return in.get_double(); }, [&] { return in.get_packed_double(); }, real); break;
      case 7:
        for_each_number(in, [&] { return in.get_int32(); }, [&] { return in.get_packed_int32(); }, integer);
        break;
      case 8: texts.emplace_back(view(in)); break;
      case 10:
        for_each_number(in, [&] { return in.get_int64(); }, [&] { return in.get_packed_int64(); }, integer);
        break;
      case 11: for_each_number(in, [&] { return in.get_bool(); }, [&] { return in.get_packed_bool(); }, integer); break;
      case 13:
        for_each_number(
            in, [&] { return in.get_int32(); }, [&] { return in.get_packed_int32(); }, integer),
            has_bits = true;
        break;
      case 16:
        for_each_number(in, [&] { return in.get_uint32(); }, [&] { return in.get_packed_uint32(); }, integer);
        break;
      case 17:
        for_each_number(in, [&] { return in.get_uint64(); }, [&] { return in.get_packed_uint64(); }, integer);
        break;
      default: in.skip();
    }
  if (number == kString) return Value::of(std::move(texts));
  const DataType dtype = type_of_number(number);
  if (dtype.is_void()) throw Error(OpNotImplemented) << "a constant of the type with number " << number;
  for (int64_t extent : shape)
    if (extent < 0) damaged("a constant has a negative extent");
  const size_t size = tensor_bytes(shape, dtype);
  constexpr size_t kMax = size_t{1} << 36;
  if (size > kMax) damaged("a constant is larger than 64 GiB");
  if (!content.empty() && content.size() != size) damaged("the contents of a constant do not fit its shape");
  const size_t given = std::max(reals.size(), integers.size());
  NDArray out = NDArray::empty(shape, dtype);
  if (!content.empty()) {
    std::memcpy(out.data<char>(), content.data(), size);
    return relay::make_constant(out);
  }
  if (given > static_cast<size_t>(out.size())) damaged("a constant has more numbers than its shape");
  const auto step = static_cast<size_t>(dtype.bytes());
  for (size_t i = 0; i < static_cast<size_t>(out.size()); ++i) {  // the last number stands for the rest
    char* at = out.data<char>() + i * step;
    const size_t from = std::min(i, given ? given - 1 : 0);
    if (!given) std::memset(at, 0, step);
    else if (has_bits) {
      const auto bits = static_cast<uint16_t>(integers[from]);
      std::memcpy(at, &bits, std::min(sizeof(bits), step));
    } else if (!reals.empty()) write_float(dtype, reals[from], at);
    else write_int(dtype, integers[from], at);
  }
  return relay::make_constant(out);
}

// ---- attributes -----------------------------------------------------------------------------------------------------

/// The name of a function that an attribute holds.
std::string function_name(std::string_view bytes) {
  std::string out;
  for (pbf_reader in = frontend::reader_of(bytes); in.next();) {
    if (in.tag() == 1) out = view(in);
    else in.skip();
  }
  return out;
}

Attribute shape_attribute(std::string_view bytes) {
  Attribute out;
  out.shape = parse_shape(bytes);
  return out;
}

Attribute list_of(std::string_view bytes) {
  std::vector<Attribute> items;
  pbf_reader in = frontend::reader_of(bytes);
  while (in.next()) switch (in.tag()) {
      case 2: items.push_back(Attribute::of_text(std::string(view(in)))); break;
      case 3:
        for_each_number(
            in, [&] { return in.get_int64(); }, [&] { return in.get_packed_int64(); },
            [&](int64_t v) { items.push_back(Attribute::of(v)); });
        break;
      case 4:
        for_each_number(
            in, [&] { return in.get_float(); }, [&] { return in.get_packed_float(); },
            [&](float v) { items.push_back(Attribute::of_real(v)); });
        break;
      case 5:
        for_each_number(
            in, [&] { return in.get_bool(); }, [&] { return in.get_packed_bool(); },
            [&](bool v) { items.push_back(Attribute::of(v)); });
        break;
      case 6:
        for_each_number(
            in, [&] { return in.get_enum(); }, [&] { return in.get_packed_enum(); },
            [&](int32_t v) { items.push_back(Attribute::of_type(type_of_number(v))); });
        break;
      case 7: items.push_back(shape_attribute(view(in))); break;
      case 9: items.push_back(Attribute::of_text(function_name(view(in)))); break;
      default: in.skip();
    }
  Attribute out;
  out.list = std::make_shared<const std::vector<Attribute>>(std::move(items));
  return out;
}

Attribute attribute(std::string_view bytes) {
  Attribute out;
  pbf_reader in = frontend::reader_of(bytes);
  while (in.next()) switch (in.tag()) {
      case 1: out = list_of(view(in)); break;
      case 2: out = Attribute::of_text(std::string(view(in))); break;
      case 3: out = Attribute::of(in.get_int64()); break;
      case 4: out = Attribute::of_real(in.get_float()); break;
      case 5: out = Attribute::of(in.get_bool()); break;
      case 6: out = Attribute::of_type(type_of_number(in.get_enum())); break;
      case 7: out = shape_attribute(view(in)); break;
      case 8: out.tensor = tensor(view(in)); break;
      case 10: out = Attribute::of_text(function_name(view(in))); break;
      default: in.skip();
    }
  return out;
}

}  // namespace

DataType type_of_number(int64_t number) {
  if (number > 100) number -= 100;  // a reference to such a tensor
  switch (number) {
    case 1: return DataType::Float(32);
    case 2: return DataType::Float(64);
    case 3: return DataType::Int(32);
    case 4: return DataType::UInt(8);
    case 5: return DataType::Int(16);
    case 6: return DataType::Int(8);
    case 9: return DataType::Int(64);
    case 10: return DataType::Bool();
    case 11: return DataType::Int(8);
    case 12: return DataType::UInt(8);
    case 13: return DataType::Int(32);
    case 14: return DataType::BFloat(16);
    case 15: return DataType::Int(16);
    case 16: return DataType::UInt(16);
    case 17: return DataType::UInt(16);
    case 19: return DataType::Float(16);
    case 22: return DataType::UInt(32);
    case 23: return DataType::UInt(64);
    default: return DataType::Void();
  }
}

std::optional<std::vector<int64_t>> parse_shape(std::string_view bytes) {
  return checked([&]() -> std::optional<std::vector<int64_t>> {
    std::vector<int64_t> out;
    bool is_unknown = false;
    for (pbf_reader in = frontend::reader_of(bytes); in.next();) switch (in.tag()) {
        case 2: {
          int64_t size = 0;
          for (pbf_reader dim = in.get_message(); dim.next();) {
            if (dim.tag() == 1) size = dim.get_int64();
            else dim.skip();
          }
          out.push_back(size);
          break;
        }
        case 3: is_unknown = in.get_bool(); break;
        default: in.skip();
      }
    constexpr size_t kMaxDimensions = 254;
    if (out.size() > kMaxDimensions) damaged("a shape has more than 254 dimensions");
    return is_unknown ? std::nullopt : std::optional(out);
  });
}

GraphDef parse_graph(std::string_view bytes) {
  GraphDef out = checked([&] { return Reader().graph(frontend::reader_of(bytes)); });
  if (out.nodes.empty()) damaged("it has no nodes");
  return out;
}

std::vector<MetaGraph> parse_saved_model(std::string_view bytes) {
  return checked([&] {
    std::vector<MetaGraph> out;
    for (pbf_reader in = frontend::reader_of(bytes); in.next();) {
      if (in.tag() == 2) out.push_back(Reader().meta_graph(in.get_message()));
      else in.skip();
    }
    if (out.empty()) damaged("the SavedModel has no graph");
    return out;
  });
}

bool looks_like_graph(std::string_view bytes) {
  try {
    pbf_reader in = frontend::reader_of(bytes);
    if (!in.next() || in.tag() != 1 || in.wire_type() != pbf_wire_type::length_delimited) return false;
    std::string_view name, op;
    for (pbf_reader node = frontend::reader_of(view(in)); node.next();) {
      if (node.wire_type() != pbf_wire_type::length_delimited) return false;
      if (node.tag() == 1) name = view(node);
      else if (node.tag() == 2) op = view(node);
      else if (node.tag() >= 3 && node.tag() <= 7) node.skip();
      else return false;
    }
    auto is_word = [](std::string_view text) {
      return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
    };
    // An ONNX file begins with a number, and so do most others.
    return is_word(name) && is_word(op) && op[0] >= 'A' && op[0] <= 'Z';
  } catch (const protozero::exception&) {
    return false;
  } catch (const Error&) {
    return false;
  }
}

Attributes parse_attributes(const NodeDef& node) {
  return checked([&] {
    Attributes out;
    for (const auto& [key, value] : node.attributes) {
      if (key.starts_with("_")) continue;  // hints of the runtime
      out.emplace(std::string(key), attribute(value));
    }
    return out;
  });
}

}  // namespace tessera::tensorflow
