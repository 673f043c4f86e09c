#include "runtime/archive/npy.h"

#include <algorithm>
#include <charconv>

#include "runtime/archive/files.h"
#include "runtime/archive/zip.h"
#include "runtime/byte_stream.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;
constexpr size_t kMaxHeader = 1 << 16;

[[noreturn]] void fail(const std::string& what, const std::string& problem) {
  throw Error(ValueError) << what << " is no array that can be read: " << problem;
}

/// What the header of a .npy file says.
struct Description {
  DataType dtype;
  bool is_swapped = false, is_fortran = false;
  std::vector<int64_t> shape;
};

/// The dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: strings, booleans and a tuple of numbers.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  Description read() {
    Description out;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = quoted_text();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        element_type(out);
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        out.is_fortran = word() == "True";
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        out.shape = numbers();
      } else {
        fail(what_, "its header has an entry " + tessera::quoted(key) + " that does not belong there");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    blanks();
    if (!text_.empty() || !has_type || !has_order || !has_shape) broken();
    return out;
  }

 private:
  [[noreturn]] void broken() const { fail(what_, "its header is not of the form that NumPy writes"); }
  void blanks() {
    size_t count = std::min(text_.find_first_not_of(" \n\t"), text_.size());
    text_.remove_prefix(count);
  }
  bool accept(char c) {
    blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  std::string quoted_text() {
    blanks();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) broken();
    size_t end = text_.find(text_[0], 1);
    if (end == text_.npos) broken();
    std::string out(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return out;
  }
  std::string word() {
    blanks();
    size_t end = std::min(text_.find_first_of(",} \n"), text_.size());
    std::string out(text_.substr(0, end));
    if (out != "True" && out != "False") broken();
    text_.remove_prefix(end);
    return out;
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> out;
    expect('(');
    while (!accept(')')) {
      int64_t value = 0;
      blanks();
      auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0 || out.size() == kMaxRank) broken();
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      if (!text_.empty() && text_.front() == 'L') text_.remove_prefix(1);  // as Python 2 wrote them
      out.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  void element_type(Description& out) {
    blanks();
    if (!text_.empty() && text_[0] == '[') fail(what_, "it holds records; give one array for each field");
    std::string name = quoted_text();
    auto reject = [&](const char* kind) { fail(what_, std::string("it holds ") + kind + " (" + name + ")"); };
    if (name.size() < 2) broken();
    char order = name[0], kind = name[1];
    int bytes = 0;
    std::from_chars(name.data() + 2, name.data() + name.size(), bytes);
    if (kind == 'O') reject("Python objects, which are not loaded because that can run any code");
    if (kind == 'U' || kind == 'S') reject("strings");
    if (kind == 'c') reject("complex numbers");
    if (kind == 'M' || kind == 'm') reject("dates");
    bool is_known = (kind == 'b' && bytes == 1) || (kind == 'f' && (bytes == 2 || bytes == 4 || bytes == 8)) ||
                    ((kind == 'i' || kind == 'u') && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8));
    if (!is_known || (order != '<' && order != '>' && order != '|' && order != '='))
      reject("elements of a type that tensors do not have");
    out.dtype = kind == 'b'   ? DataType::Bool()
                : kind == 'f' ? DataType::Float(8 * bytes)
                : kind == 'i' ? DataType::Int(8 * bytes)
                              : DataType::UInt(8 * bytes);
    out.is_swapped = order == '>' && bytes > 1;
  }

  std::string_view text_;
  const std::string& what_;
};

/// Bytes of the parts before the header's text: magic, version, length.
size_t preamble_size(std::string_view start, const std::string& what) {
  if (start.substr(0, kMagic.size()) != kMagic || start.size() < 10) fail(what, "it does not begin as .npy files do");
  auto version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) fail(what, "its version " + std::to_string(version) + " is not known");
  return version == 1 ? 10 : 12;
}

void swap_bytes(char* data, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

/// The same elements in row-major order.
NDArray from_columns(const NDArray& columns, const std::vector<int64_t>& shape) {
  NDArray out = NDArray::empty(shape, columns.dtype());
  auto size = static_cast<size_t>(columns.dtype().bytes());
  const char* from = columns.data<char>();
  char* to = out.data<char>();
  std::vector<int64_t> strides(shape.size()), at(shape.size());
  int64_t step = 1;
  for (size_t i = 0; i < shape.size(); ++i) strides[i] = std::exchange(step, step * shape[i]);
  int64_t offset = 0;
  for (int64_t i = 0, count = out.size(); i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(offset) * size, size);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++at[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return out;
}

/// Reads an array whose bytes come from `read(out, count)`; `size` is how many there are in all.
NDArray read_array(const std::function<void(void*, size_t)>& read, uint64_t size, const std::string& what) {
  char start[12];
  if (size < sizeof start) fail(what, "it is too short");
  read(start, 10);
  size_t preamble = preamble_size({start, 10}, what);
  if (preamble == 12) read(start + 10, 2);
  size_t length = 0;
  for (size_t i = preamble; i-- > 8;) length = length << 8 | static_cast<unsigned char>(start[i]);
  if (length > kMaxHeader || length > size - preamble)
    fail(what, "its header announces " + std::to_string(length) + " bytes");
  std::string header(length, '\0');
  read(header.data(), length);
  Description description = HeaderReader(header, what).read();
  uint64_t left = size - preamble - length;
  if (tensor_bytes(description.shape, description.dtype) != left)
    fail(what, "its shape " + shape_text(description.shape) + " of " + to_text(description.dtype) +
                   " does not fit the " + std::to_string(left) + " bytes that follow");
  std::vector<int64_t> shape = description.shape;
  if (description.is_fortran) std::reverse(shape.begin(), shape.end());
  NDArray out = NDArray::empty(shape, description.dtype);
  read(out.data<char>(), out.bytes());
  auto element = static_cast<size_t>(description.dtype.bytes());
  if (description.is_swapped) swap_bytes(out.data<char>(), static_cast<size_t>(out.size()), element);
  if (description.dtype.is_bool())  // any other byte would be neither true nor false
    for (char *at = out.data<char>(), *end = at + out.bytes(); at != end; ++at) *at = *at != 0;
  return description.is_fortran ? from_columns(out, description.shape) : out;
}

NDArray read_member(const ZipMember& member, const std::string& what) {
  constexpr uint64_t kMaxExpansion = 1100;  // deflate cannot do more than 1032 to 1
  std::string name = what + ", member " + tessera::quoted(member.name) + ",";
  if (member.is_deflated && member.size / kMaxExpansion > member.packed.size())
    fail(name, "it announces " + std::to_string(member.size) + " bytes, which " + std::to_string(member.packed.size()) +
                   " compressed ones cannot hold");
  ZipStream stream(member, what);
  NDArray out = read_array([&](void* data, size_t count) { stream.read(data, count); }, member.size, name);
  stream.finish();
  return out;
}

/// NumPy's code of an element type.
std::string type_code(DataType dtype) {
  if (dtype.lanes != 1 || dtype.is_handle() || dtype.is_void())
    throw Error(ValueError) << "elements of type " << dtype << " cannot be written to a .npy file";
  if (dtype.is_bool()) return "|b1";
  char kind = dtype.is_float() ? 'f' : dtype.is_int() ? 'i' : 'u';
  return (dtype.bytes() == 1 ? "|" : "<") + std::string(1, kind) + std::to_string(dtype.bytes());
}

}  // namespace

NDArray read_npy(std::string_view bytes, const std::string& what) {
  ByteReader in(bytes, what);
  auto read = [&](void* out, size_t count) {
    std::string_view part = in.raw(count, "the array");
    if (count) std::memcpy(out, part.data(), count);
  };
  return read_array(read, bytes.size(), what);
}

std::string npy_header(std::span<const int64_t> shape, DataType dtype) {
  std::string extents;
  for (int64_t extent : shape) extents += std::to_string(extent) + ", ";
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.pop_back();
  std::string text = "{'descr': '" + type_code(dtype) + "', 'fortran_order': False, 'shape': (" + extents + "), }";
  text.append(63 - (text.size() + 10) % 64, ' ');  // elements begin at a multiple of 64 bytes
  text += '\n';
  ByteWriter out;
  out.raw(kMagic.data(), kMagic.size());
  out.write(uint8_t{1});
  out.write(uint8_t{0});
  out.write(static_cast<uint16_t>(text.size()));
  out.raw(text.data(), text.size());
  return out.take();
}

NamedTensors read_npz(std::string_view bytes, const std::string& what) {
  if (bytes.substr(0, kMagic.size()) == kMagic) return {{"", read_npy(bytes, what)}};
  NamedTensors out;
  for (const ZipMember& member : read_zip(bytes, what)) {
    if (!member.name.ends_with(".npy"))
      throw Error(ValueError) << what << ": the member " << tessera::quoted(member.name)
                              << " is no array; a .npz file holds .npy files only";
    out.emplace_back(member.name.substr(0, member.name.size() - 4), read_member(member, what));
  }
  return out;
}

NamedTensors load_npz(const std::string& path) {
  MappedFile file(path, "the arrays");
  return read_npz(file.bytes(), path);
}

void save_npz(const std::string& path, const NamedTensors& tensors) {
  write_whole_file(path, [&](const Sink& out) {
    ZipWriter zip(out);
    for (const auto& [name, tensor] : tensors) {
      NDArray host = tensor.device().device_type == kDLCPU ? tensor : tensor.copy_to(cpu());
      zip.add(name + ".npy", {npy_header(host.shape(), host.dtype()), {host.data<char>(), host.bytes()}});
    }
    zip.finish();
  });
}

namespace {

Globals npy_globals{
    {"runtime.LoadNpz",
     [](std::string path) {
       Map<String, NDArray> out;
       for (const auto& [name, tensor] : load_npz(path)) out.set(String(name), tensor);
       return out;
     }},
};

}  // namespace
}  // namespace tessera
