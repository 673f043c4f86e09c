#include "frontend/onnx/model.h"

#include <filesystem>

#include "frontend/onnx/protobuf.h"
#include "runtime/archive/files.h"

namespace tessera::onnx {
namespace {

using protozero::pbf_reader;

constexpr int kMaxDepth = 100;  // graphs within graphs, types within types
/// Two bytes of a file can be an empty node, which takes a hundred times as much memory.
constexpr int kMaxParts = 4'000'000;

std::string_view text(pbf_reader& in) { return frontend::next_view(in); }

template <class T, class One, class Packed>
void numbers(pbf_reader& in, std::vector<T>* out, One&& one, Packed&& packed) {
  frontend::for_each_number(in, one, packed, [&](auto value) { out->push_back(static_cast<T>(value)); });
}
void int64s(pbf_reader& in, std::vector<int64_t>* out) {
  numbers(in, out, [&] { return in.get_int64(); }, [&] { return in.get_packed_int64(); });
}
void floats(pbf_reader& in, std::vector<float>* out) {
  numbers(in, out, [&] { return in.get_float(); }, [&] { return in.get_packed_float(); });
}

class Reader {
 public:
  Model model(pbf_reader in) {
    Model out;
    while (in.next()) switch (in.tag()) {
        case 1: out.ir_version = in.get_int64(); break;
        case 2: out.producer_name = text(in); break;
        case 3: out.producer_version = text(in); break;
        case 4: out.domain = text(in); break;
        case 5: out.model_version = in.get_int64(); break;
        case 7: out.graph = graph(in.get_message()); break;
        case 8: out.operator_sets.push_back(operator_set(in.get_message())); break;
        case 14: out.metadata.push_back(entry(in.get_message())); break;
        case 20: out.has_training = true, in.skip(); break;
        case 25: out.functions.push_back(function(in.get_message())); break;
        default: in.skip();
      }
    return out;
  }

 private:
  Graph graph(pbf_reader in) {
    Level level(this);
    Graph out;
    while (in.next()) switch (in.tag()) {
        case 1: out.nodes.push_back(node(in.get_message())); break;
        case 2: out.name = text(in); break;
        case 5: out.initializers.push_back(tensor(in.get_message())); break;
        case 11: out.inputs.push_back(value_info(in.get_message())); break;
        case 12: out.outputs.push_back(value_info(in.get_message())); break;
        case 13: out.values.push_back(value_info(in.get_message())); break;
        case 15: out.sparse_initializers.push_back(sparse_tensor(in.get_message())); break;
        default: in.skip();
      }
    return out;
  }

  Node node(pbf_reader in) {
    count_part();
    Node out;
    while (in.next()) switch (in.tag()) {
        case 1: out.inputs.push_back(text(in)); break;
        case 2: out.outputs.push_back(text(in)); break;
        case 3: out.name = text(in); break;
        case 4: out.op = text(in); break;
        case 5: out.attributes.push_back(attribute(in.get_message())); break;
        case 7: out.domain = text(in); break;
        case 8: out.overload = text(in); break;
        default: in.skip();
      }
    return out;
  }

  Attribute attribute(pbf_reader in) {
    count_part();
    Attribute out;
    Attribute::Kind guess = Attribute::Undefined;  // files before IR version 3 leave the type out
    auto filled = [&](Attribute::Kind kind) { guess = kind; };
    while (in.next()) switch (in.tag()) {
        case 1: out.name = text(in); break;
        case 2: out.f = in.get_float(), filled(Attribute::Float); break;
        case 3: out.i = in.get_int64(), filled(Attribute::Int); break;
        case 4: out.s = text(in), filled(Attribute::String); break;
        case 5: out.tensors.push_back(tensor(in.get_message())), filled(Attribute::TensorValue); break;
        case 6:
          out.graphs.push_back(std::make_shared<Graph>(graph(in.get_message())));
          filled(Attribute::GraphValue);
          break;
        case 7: floats(in, &out.floats), filled(Attribute::Floats); break;
        case 8: int64s(in, &out.ints), filled(Attribute::Ints); break;
        case 9: out.strings.push_back(text(in)), filled(Attribute::Strings); break;
        case 10: out.tensors.push_back(tensor(in.get_message())), filled(Attribute::Tensors); break;
        case 11:
          out.graphs.push_back(std::make_shared<Graph>(graph(in.get_message())));
          filled(Attribute::Graphs);
          break;
        case 14: out.types.push_back(type(in.get_message())), filled(Attribute::TypeValue); break;
        case 15: out.types.push_back(type(in.get_message())), filled(Attribute::Types); break;
        case 20: out.kind = static_cast<Attribute::Kind>(in.get_enum()); break;
        case 21: out.referred = text(in); break;
        case 22:
          out.sparse_tensors.push_back(sparse_tensor(in.get_message()));
          filled(Attribute::SparseTensorValue);
          break;
        case 23:
          out.sparse_tensors.push_back(sparse_tensor(in.get_message()));
          filled(Attribute::SparseTensors);
          break;
        default: in.skip();
      }
    if (out.kind == Attribute::Undefined) out.kind = guess;
    return out;
  }

  Tensor tensor(pbf_reader in) {
    count_part();
    Tensor out;
    while (in.next()) switch (in.tag()) {
        case 1: int64s(in, &out.dims); break;
        case 2: out.type = static_cast<ElementType>(in.get_int32()); break;
        case 4: floats(in, &out.floats); break;
        case 5: numbers(in, &out.int32s, [&] { return in.get_int32(); }, [&] { return in.get_packed_int32(); }); break;
        case 6: out.strings.push_back(text(in)); break;
        case 7: int64s(in, &out.int64s); break;
        case 8: out.name = text(in); break;
        case 9: out.raw = text(in), out.has_raw = true; break;
        case 10:
          numbers(in, &out.doubles, [&] { return in.get_double(); }, [&] { return in.get_packed_double(); });
          break;
        case 11:
          numbers(in, &out.uint64s, [&] { return in.get_uint64(); }, [&] { return in.get_packed_uint64(); });
          break;
        case 13: out.external.push_back(entry(in.get_message())); break;
        case 14: out.is_external = in.get_enum() == 1; break;
        default: in.skip();
      }
    return out;
  }

  SparseTensor sparse_tensor(pbf_reader in) {
    SparseTensor out;
    while (in.next()) switch (in.tag()) {
        case 1: out.values = tensor(in.get_message()); break;
        case 2: out.indices = tensor(in.get_message()); break;
        case 3: int64s(in, &out.dims); break;
        default: in.skip();
      }
    return out;
  }

  static KeyValue entry(pbf_reader in) {
    KeyValue out;
    while (in.next()) switch (in.tag()) {
        case 1: out.key = text(in); break;
        case 2: out.value = text(in); break;
        default: in.skip();
      }
    return out;
  }

  ValueInfo value_info(pbf_reader in) {
    count_part();
    ValueInfo out;
    while (in.next()) switch (in.tag()) {
        case 1: out.name = text(in); break;
        case 2: out.type = type(in.get_message()); break;
        default: in.skip();
      }
    return out;
  }

  ValueType type(pbf_reader in) {
    Level level(this);
    ValueType out;
    while (in.next()) switch (in.tag()) {
        case 1: tensor_type(in.get_message(), ValueType::Tensor, &out); break;
        case 4: holder_type(in.get_message(), ValueType::Sequence, &out); break;
        case 5: map_type(in.get_message(), &out); break;
        case 7: out.kind = ValueType::Opaque, in.skip(); break;
        case 8: tensor_type(in.get_message(), ValueType::SparseTensor, &out); break;
        case 9: holder_type(in.get_message(), ValueType::Optional, &out); break;
        default: in.skip();
      }
    return out;
  }

  void tensor_type(pbf_reader in, ValueType::Kind kind, ValueType* out) {
    out->kind = kind;
    while (in.next()) switch (in.tag()) {
        case 1: out->element = static_cast<ElementType>(in.get_int32()); break;
        case 2: shape(in.get_message(), out); break;
        default: in.skip();
      }
  }
  void holder_type(pbf_reader in, ValueType::Kind kind, ValueType* out) {
    out->kind = kind;
    while (in.next()) {
      if (in.tag() == 1) out->inner = std::make_shared<ValueType>(type(in.get_message()));
      else in.skip();
    }
  }
  void map_type(pbf_reader in, ValueType* out) {
    out->kind = ValueType::Map;
    while (in.next()) switch (in.tag()) {
        case 1: out->element = static_cast<ElementType>(in.get_int32()); break;
        case 2: out->inner = std::make_shared<ValueType>(type(in.get_message())); break;
        default: in.skip();
      }
  }

  static void shape(pbf_reader in, ValueType* out) {
    out->has_shape = true;
    while (in.next()) {
      if (in.tag() != 1) {
        in.skip();
        continue;
      }
      Dimension dimension;
      for (pbf_reader part = in.get_message(); part.next();) switch (part.tag()) {
          case 1: dimension = {Dimension::Known, part.get_int64(), {}}; break;
          case 2: dimension = {Dimension::Named, 0, text(part)}; break;
          default: part.skip();
        }
      out->shape.push_back(dimension);
    }
  }

  static OperatorSet operator_set(pbf_reader in) {
    OperatorSet out;
    while (in.next()) switch (in.tag()) {
        case 1: out.domain = text(in); break;
        case 2: out.version = in.get_int64(); break;
        default: in.skip();
      }
    return out;
  }

  Function function(pbf_reader in) {
    count_part();
    Function out;
    while (in.next()) switch (in.tag()) {
        case 1: out.name = text(in); break;
        case 4: out.inputs.push_back(text(in)); break;
        case 5: out.outputs.push_back(text(in)); break;
        case 6: out.attributes.push_back(text(in)); break;
        case 7: out.nodes.push_back(node(in.get_message())); break;
        case 9: out.operator_sets.push_back(operator_set(in.get_message())); break;
        case 10: out.domain = text(in); break;
        case 11: out.defaults.push_back(attribute(in.get_message())); break;
        case 13: out.overload = text(in); break;
        default: in.skip();
      }
    return out;
  }

  void count_part() {
    if (++parts_ > kMaxParts)
      throw Error(ValueError) << "ONNX file: more than " << kMaxParts << " nodes, attributes, tensors and values";
  }

  struct Level {
    explicit Level(Reader* reader) : depth(reader->depth_) {
      if (++depth > kMaxDepth)
        throw Error(ValueError) << "ONNX file: graphs or types are nested deeper than " << kMaxDepth << " levels";
    }
    ~Level() { --depth; }
    int& depth;
  };
  int depth_ = 0;
  int parts_ = 0;
};

}  // namespace

Model parse_model(std::string_view bytes, std::shared_ptr<const void> owner, DataFolder folder) {
  Model out =
      frontend::read_wire("the ONNX model", [&] { return Reader().model(frontend::reader_of(bytes)); }, damaged);
  if (out.graph.nodes.empty() && out.graph.outputs.empty() && out.ir_version == 0)
    throw Error(ValueError) << "this is no ONNX model: it has neither a version nor a graph";
  out.memory = std::move(owner);
  out.folder = std::move(folder);
  out.bytes = bytes;
  return out;
}

Model read_model(const std::string& path, const std::string& allow_links) {
  MappedFile file(path, "the ONNX model");
  std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  try {
    return parse_model(file.bytes(), file.owner(), {folder.string(), allow_links});
  } catch (Error& error) {
    error << "\n  in " << path;
    throw;
  }
}

}  // namespace tessera::onnx
