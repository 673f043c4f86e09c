#include "frontend/tflite/model.h"

#include <cstring>

#include "frontend/tflite/flatbuffer.h"
#include "frontend/tflite/options.h"
#include "runtime/archive/files.h"

namespace tessera::tflite {
namespace {

constexpr const char* kMark = "TFL3";
constexpr size_t kMarkAt = 4;

/// Of the vectors that may hold the indices of sparse tensors, by the number of the union.
std::vector<int64_t> index_vector(const TableView& table, int kind) {
  auto widened = [](const auto& values) { return std::vector<int64_t>(values.begin(), values.end()); };
  if (kind == 1) return widened(table.numbers<int32_t>(0));
  if (kind == 2) return widened(table.numbers<uint16_t>(0));
  if (kind == 3) return widened(table.numbers<uint8_t>(0));
  return {};
}

std::shared_ptr<const Sparsity> sparsity_of(const TableView& table) {
  if (!table) return nullptr;
  Sparsity out{table.numbers<int32_t>(0), table.numbers<int32_t>(1), {}};
  for (const TableView& given : table.tables(2)) {
    Dimension dimension;
    dimension.is_sparse = given.number<int8_t>(0, 0) == 1;
    dimension.dense_size = given.number<int32_t>(1, 0);
    dimension.segments = index_vector(given.table(3), given.number<uint8_t>(2, 0));
    dimension.indices = index_vector(given.table(5), given.number<uint8_t>(4, 0));
    out.dimensions.push_back(std::move(dimension));
  }
  return std::make_shared<const Sparsity>(std::move(out));
}

class Reader {
 public:
  Reader(std::string_view bytes, flatbuffers::Verifier* verifier) : bytes_(bytes), verifier_(verifier) {}

  Model model(const AnyTable* root) {
    const TableView table(root, verifier_);
    for (const TableView& buffer : table.tables(4)) buffers_.push_back(buffer_of(buffer));
    std::vector<Operator> codes;
    for (const TableView& code : table.tables(1)) {
      Operator kind;
      kind.code = std::max<int>(code.number<int8_t>(0, 0),
                                code.number<int32_t>(3, 0));  // codes up to 127 stand in the older field
      kind.custom = code.text(1);
      kind.version = code.number<int32_t>(2, 1);
      codes.push_back(kind);
    }
    Model out;
    for (const TableView& graph : table.tables(2)) out.subgraphs.push_back(subgraph(graph, codes));
    for (const TableView& given : table.tables(7)) {
      Signature signature{given.text(2), names(given.tables(0)), names(given.tables(1)), given.number<uint32_t>(4, 0)};
      if (signature.subgraph >= static_cast<int64_t>(out.subgraphs.size()))
        damaged("a signature names a subgraph that is not there");
      out.signatures.push_back(std::move(signature));
    }
    if (out.subgraphs.empty()) damaged("it has no graph");
    return out;
  }

 private:
  std::string_view buffer_of(const TableView& buffer) const {
    const auto offset = buffer.number<uint64_t>(1, 0), size = buffer.number<uint64_t>(2, 0);
    if (offset <= 1) return buffer.bytes(0);
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      damaged("the data of a tensor lies outside of the file");
    return bytes_.substr(offset, size);
  }

  static std::vector<std::pair<std::string_view, int64_t>> names(const std::vector<TableView>& entries) {
    std::vector<std::pair<std::string_view, int64_t>> out;
    for (const TableView& entry : entries) out.emplace_back(entry.text(0), entry.number<uint32_t>(1, 0));
    return out;
  }

  Tensor tensor(const TableView& given) const {
    Tensor out;
    out.name = given.text(3);
    out.kind = static_cast<TensorKind>(given.number<int8_t>(1, 0));
    out.shape = given.numbers<int32_t>(0);
    out.signature = given.numbers<int32_t>(7);
    if (!out.signature.empty() && out.signature.size() != out.shape.size())
      damaged("the two shapes of a tensor differ in rank");
    for (int32_t extent : out.shape)
      if (extent < 0) damaged("a tensor has a negative extent");
    const auto buffer = given.number<uint32_t>(2, 0);
    if (buffer >= buffers_.size() && buffer != 0) damaged("a tensor names a buffer that is not there");
    if (buffer < buffers_.size()) out.data = buffers_[buffer];
    out.is_variable = given.number<uint8_t>(5, 0) != 0;
    out.sparsity = sparsity_of(given.table(6));
    if (TableView quantization = given.table(4)) {
      out.quantization = {quantization.numbers<float>(2), quantization.numbers<int64_t>(3),
                          quantization.number<int32_t>(6, 0)};
      Quantization& q = out.quantization;
      if (q.zero.empty()) q.zero.assign(q.scale.size(), 0);
      if (q.zero.size() != q.scale.size() && q.zero.size() == 1) q.zero.assign(q.scale.size(), q.zero[0]);
      if (q.zero.size() != q.scale.size()) damaged("scales and zero points of a tensor differ in number");
    }
    return out;
  }

  Subgraph subgraph(const TableView& given, const std::vector<Operator>& codes) const {
    Subgraph out;
    out.name = given.text(4);
    for (const TableView& one : given.tables(0)) out.tensors.push_back(tensor(one));
    out.inputs = given.numbers<int32_t>(1);
    out.outputs = given.numbers<int32_t>(2);
    for (const TableView& one : given.tables(3)) {
      const auto code = one.number<uint32_t>(0, 0);
      if (code >= codes.size()) damaged("an operator has a code that is not there");
      Operator node = codes[code];
      node.inputs = one.numbers<int32_t>(1);
      node.outputs = one.numbers<int32_t>(2);
      node.attributes = node.custom.empty() ? attributes_of(one.number<uint8_t>(3, 0), one.table(4))
                                            : custom_attributes(one.bytes(5));
      out.operators.push_back(std::move(node));
    }
    const auto count = static_cast<int64_t>(out.tensors.size());
    auto check = [&](const std::vector<int32_t>& indices, int32_t least) {
      for (int32_t index : indices)
        if (index < least || index >= count) damaged("an operator or graph names a tensor that is not there");
    };
    check(out.inputs, 0);
    check(out.outputs, 0);
    for (const Operator& node : out.operators) check(node.inputs, -1), check(node.outputs, 0);
    return out;
  }

  std::string_view bytes_;
  flatbuffers::Verifier* verifier_;
  std::vector<std::string_view> buffers_;
};

}  // namespace

DataType memory_type(TensorKind kind) {
  switch (kind) {
    case TensorKind::Float32: return DataType::Float(32);
    case TensorKind::Float16: return DataType::Float(16);
    case TensorKind::Float64: return DataType::Float(64);
    case TensorKind::BFloat16: return DataType::BFloat(16);
    case TensorKind::Int32: return DataType::Int(32);
    case TensorKind::UInt8: return DataType::UInt(8);
    case TensorKind::Int64: return DataType::Int(64);
    case TensorKind::Bool: return DataType::Bool();
    case TensorKind::Int16: return DataType::Int(16);
    case TensorKind::Int8:
    case TensorKind::Int4:
    case TensorKind::Int2: return DataType::Int(8);
    case TensorKind::UInt64: return DataType::UInt(64);
    case TensorKind::UInt32: return DataType::UInt(32);
    case TensorKind::UInt16: return DataType::UInt(16);
    case TensorKind::UInt4: return DataType::UInt(8);
    default: return DataType::Void();
  }
}

bool is_tflite(std::string_view bytes) { return bytes.size() >= 8 && bytes.substr(kMarkAt, 4) == kMark; }

Model parse_model(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (!is_tflite(bytes)) damaged("it does not carry the mark TFL3");
  constexpr size_t kAlignment = 16;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) {
    std::shared_ptr<char> copy(
        static_cast<char*>(std::aligned_alloc(kAlignment, (bytes.size() + kAlignment - 1) / kAlignment * kAlignment)),
        std::free);
    if (!copy) throw Error(ValueError) << "the TFLite model does not fit into memory";
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    bytes = {copy.get(), bytes.size()};
    owner = copy;
  }
  constexpr size_t kMax = 0x7fff0000;  // what offsets of a FlatBuffer reach; weights may lie behind it
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, std::min(bytes.size(), kMax), 64, 4'000'000);
  const auto root = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(data);
  if (root > std::min(bytes.size(), kMax) - sizeof(flatbuffers::soffset_t))
    damaged("its root lies outside of the file");
  auto* table = reinterpret_cast<const AnyTable*>(data + root);
  if (root == 0 || !table->Verify(verifier)) damaged("its root is no table");
  Model out = Reader(bytes, &verifier).model(table);
  out.memory = std::move(owner);
  return out;
}

Model read_model(const std::string& path) {
  MappedFile file(path, "the TFLite model");
  try {
    return parse_model(file.bytes(), file.owner());
  } catch (Error& error) {
    error << "\n  in " << path;
    throw;
  }
}

namespace {

/// The elements of a sparse tensor at their positions. Dimensions are stored in an order of their own; some original ones are
/// divided into blocks, which are dimensions behind the others.
class Densifier {
 public:
  Densifier(const Tensor& tensor, size_t element) : tensor_(tensor), sparsity_(*tensor.sparsity), element_(element) {
    const size_t rank = tensor.shape.size(), all = rank + sparsity_.blocks.size();
    if (sparsity_.order.size() != all || sparsity_.dimensions.size() != all) fail();
    coordinates_.assign(all, 0);
    block_.assign(rank, 1);
    std::vector<bool> seen(all, false);
    for (size_t level = 0; level < all; ++level) {
      const auto d = static_cast<size_t>(sparsity_.order[level]);
      if (sparsity_.order[level] < 0 || d >= all || seen[d]) fail();
      seen[d] = true;
      if (d < rank) continue;
      const int32_t of = sparsity_.blocks[d - rank];
      const Dimension& dimension = sparsity_.dimensions[level];
      if (of < 0 || static_cast<size_t>(of) >= rank || dimension.is_sparse || dimension.dense_size < 1) fail();
      block_[static_cast<size_t>(of)] = dimension.dense_size;
    }
  }

  void run(char* out) {
    out_ = out;
    visit(0, 0);
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ValueError) << "the sparse tensor " << std::string(tensor_.name)
                            << " is damaged: its dimensions do not fit each other";
  }

  void visit(size_t level, int64_t position) {
    if (level == sparsity_.order.size()) return store(position);
    const Dimension& dimension = sparsity_.dimensions[level];
    int64_t& coordinate = coordinates_[static_cast<size_t>(sparsity_.order[level])];
    if (!dimension.is_sparse) {
      if (dimension.dense_size < 0 || dimension.dense_size > INT32_MAX) fail();
      if (dimension.dense_size * std::max<int64_t>(position, 1) > (int64_t{1} << 40)) fail();
      for (coordinate = 0; coordinate < dimension.dense_size; ++coordinate) {
        const int64_t now = coordinate;
        visit(level + 1, position * dimension.dense_size + now);
        coordinate = now;
      }
      return;
    }
    const auto at = static_cast<size_t>(position);
    if (at + 1 >= dimension.segments.size()) fail();
    const int64_t first = dimension.segments[at], last = dimension.segments[at + 1];
    if (first < 0 || last < first || last > static_cast<int64_t>(dimension.indices.size())) fail();
    for (int64_t i = first; i < last; ++i) {
      coordinate = dimension.indices[static_cast<size_t>(i)];
      visit(level + 1, i);
    }
  }

  void store(int64_t position) {
    const size_t rank = tensor_.shape.size();
    int64_t index = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t within = 0;
      for (size_t b = 0; b < sparsity_.blocks.size(); ++b)
        if (static_cast<size_t>(sparsity_.blocks[b]) == d) within = coordinates_[rank + b];
      const int64_t coordinate = coordinates_[d] * block_[d] + within;
      if (coordinate < 0 || coordinate >= tensor_.shape[d]) fail();
      index = index * tensor_.shape[d] + coordinate;
    }
    const auto from = static_cast<size_t>(position) * element_;
    if (from + element_ > tensor_.data.size()) fail();
    std::memcpy(out_ + static_cast<size_t>(index) * element_, tensor_.data.data() + from, element_);
  }

  const Tensor& tensor_;
  const Sparsity& sparsity_;
  size_t element_;
  std::vector<int64_t> coordinates_, block_;
  char* out_ = nullptr;
};

}  // namespace

NDArray to_ndarray(const Tensor& tensor) {
  const DataType dtype = memory_type(tensor.kind);
  std::vector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  if (dtype.is_void())
    throw Error(OpNotImplemented) << "the constant " << std::string(tensor.name)
                                  << " is of a type that tensors do not have here";
  const int bits = tensor.kind == TensorKind::Int4 || tensor.kind == TensorKind::UInt4 ? 4
                   : tensor.kind == TensorKind::Int2                                   ? 2
                                                                                       : 0;
  const auto wanted = tensor_bytes(shape, dtype);
  const size_t in_file = bits ? (wanted * static_cast<size_t>(bits) + 7) / 8 : wanted;
  if (tensor.sparsity) {
    constexpr size_t kMax = size_t{1} << 34;
    if (wanted > kMax || bits)
      throw Error(OpNotImplemented) << "the sparse tensor " << std::string(tensor.name)
                                    << " is too large, or of few bits";
    NDArray out = NDArray::empty(shape, dtype);
    std::memset(out.data<char>(), 0, wanted);
    Densifier(tensor, static_cast<size_t>(dtype.bytes())).run(out.data<char>());
    return out;
  }
  if (tensor.data.size() != in_file)
    throw Error(ValueError) << "the constant " << std::string(tensor.name) << " has " << tensor.data.size()
                            << " bytes, but its shape asks for " << in_file;
  NDArray out = NDArray::empty(shape, dtype);
  if (!bits) {
    if (wanted > 0) std::memcpy(out.data<char>(), tensor.data.data(), wanted);  // what is empty may point nowhere
    return out;
  }
  for (size_t i = 0; i < wanted; ++i) {  // the first element in the low bits
    const auto per_byte = static_cast<size_t>(8 / bits);
    const int value =
        static_cast<uint8_t>(tensor.data[i / per_byte]) >> (static_cast<int>(i % per_byte) * bits) & ((1 << bits) - 1);
    const bool is_negative = dtype.code == DataType::kInt && value >> (bits - 1);
    out.data<int8_t>()[i] = static_cast<int8_t>(is_negative ? value - (1 << bits) : value);
  }
  return out;
}

}  // namespace tessera::tflite
