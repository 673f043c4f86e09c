#include "frontend/tensorflow/bundle.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "frontend/tensorflow/graph.h"
#include "frontend/tensorflow/protobuf.h"
#include "runtime/archive/files.h"

namespace tessera::tensorflow {
namespace {

[[noreturn]] void damaged_variables(const char* how) {
  throw Error(ValueError) << "the variables of the SavedModel are damaged: " << how;
}

/// A number of seven bits a byte, taken from the front.
uint64_t take_varint(std::string_view* in) {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in->empty()) damaged_variables("a number ends too early");
    const auto byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return out;
  }
  damaged_variables("a number has more than ten bytes");
}

std::string_view take_bytes(std::string_view* in, uint64_t count) {
  if (count > in->size()) damaged_variables("an entry ends too early");
  std::string_view out = in->substr(0, count);
  in->remove_prefix(count);
  return out;
}

constexpr size_t kFooter = 48, kTrailer = 5;  // trailer: how a block is compressed, and a checksum
constexpr size_t kEntryCost = 64, kMaxUnpacked = size_t{1} << 26;
constexpr uint64_t kMagic = 0xdb4775248b80fb57;

std::string_view block_at(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset || bytes.size() - offset - size < kTrailer)
    damaged_variables("a block lies outside of the file");
  if (bytes[offset + size] != 0)
    throw Error(OpNotImplemented) << "the table of the SavedModel's variables is compressed";
  return bytes.substr(offset, size);
}

}  // namespace

Bundle::Bundle(const std::string& prefix) : prefix_(prefix) {
  if (access((prefix + ".index").c_str(), F_OK) != 0) return;
  MappedFile index(prefix + ".index", "the table of variables");
  read_table(index.bytes());
}

Bundle::Bundle(const std::string& prefix, std::string_view table) : prefix_(prefix) { read_table(table); }

void Bundle::read_table(std::string_view bytes) {
  if (bytes.size() < kFooter) damaged_variables("its table is too short");
  std::string_view footer = bytes.substr(bytes.size() - kFooter);
  uint64_t magic = 0;
  std::memcpy(&magic, footer.data() + kFooter - sizeof(magic), sizeof(magic));
  if (magic != kMagic) damaged_variables("its table does not end as one does");
  take_varint(&footer), take_varint(&footer);  // where the block of blocks of other facts lies
  const uint64_t offset = take_varint(&footer), size = take_varint(&footer);
  read_block(block_at(bytes, offset, size), true, bytes);
}

void Bundle::read_block(std::string_view block, bool is_index, std::string_view bytes) {
  uint32_t restarts = 0;
  if (block.size() < sizeof(restarts)) damaged_variables("a block is too short");
  std::memcpy(&restarts, block.data() + block.size() - sizeof(restarts), sizeof(restarts));
  const uint64_t tail = (uint64_t{restarts} + 1) * sizeof(uint32_t);
  if (tail > block.size()) damaged_variables("a block is too short");
  std::string_view left = block.substr(0, block.size() - tail);
  std::string key;
  while (!left.empty()) {
    const uint64_t shared = take_varint(&left), more = take_varint(&left), length = take_varint(&left);
    if (shared > key.size()) damaged_variables("a key shares more than there is");
    key.resize(shared);
    key += take_bytes(&left, more);
    std::string_view value = take_bytes(&left, length);
    unpacked_ += kEntryCost + key.size() + value.size();  // keys share beginnings, and blocks may be read twice
    if (unpacked_ > kMaxUnpacked) damaged_variables("its table unpacks to more than 64 MiB");
    if (!is_index) {
      add(key, value);
      continue;
    }
    const uint64_t offset = take_varint(&value), size = take_varint(&value);
    read_block(block_at(bytes, offset, size), false, bytes);
  }
}

void Bundle::add(const std::string& key, std::string_view value) {
  try {
    protozero::pbf_reader in = frontend::reader_of(value);
    if (key.empty()) {
      while (in.next()) {
        if (in.tag() == 1) shards_ = in.get_int32();
        else if (in.tag() == 2 && in.get_enum() != 0)
          throw Error(OpNotImplemented) << "the variables of the SavedModel are big-endian";
        else if (in.tag() > 2) in.skip();
      }
      return;
    }
    Entry entry;
    while (in.next()) switch (in.tag()) {
        case 1: entry.type = in.get_enum(); break;
        case 2:
          if (auto known = parse_shape(frontend::next_view(in))) entry.shape = *known;
          break;
        case 3: entry.shard = in.get_int32(); break;
        case 4: entry.offset = in.get_int64(); break;
        case 5: entry.size = in.get_int64(); break;
        case 7: entry.is_sliced = true, in.skip(); break;
        default: in.skip();
      }
    entries_[key] = std::move(entry);
  } catch (const protozero::exception&) {
    damaged_variables("an entry of its table cannot be read");
  }
}

NDArray Bundle::read(const std::string& key) const {
  auto it = entries_.find(key);
  if (it == entries_.end())
    throw Error(ValueError) << "the SavedModel has no variable \"" << key << "\" in its table of " << entries_.size()
                            << " entries";
  const Entry& entry = it->second;
  const DataType dtype = type_of_number(entry.type);
  if (dtype.is_void() || entry.is_sliced)
    throw Error(OpNotImplemented) << "the variable " << key
                                  << " is of a type that tensors do not have here, or stored in slices";
  for (int64_t extent : entry.shape)
    if (extent < 0) damaged_variables("a variable has a negative extent");
  if (entry.shard < 0 || entry.shard >= shards_ || shards_ > 99999)
    damaged_variables("a variable lies in a file that is not there");
  char suffix[40];
  std::snprintf(suffix, sizeof(suffix), ".data-%05d-of-%05d", static_cast<int>(entry.shard), static_cast<int>(shards_));
  MappedFile data(prefix_ + suffix, "the variables");
  const size_t size = tensor_bytes(entry.shape, dtype);
  if (entry.offset < 0 || entry.size < 0 || static_cast<size_t>(entry.size) != size ||
      static_cast<size_t>(entry.offset) > data.bytes().size() ||
      size > data.bytes().size() - static_cast<size_t>(entry.offset))
    damaged_variables("the data of a variable does not fit its shape or file");
  NDArray out = NDArray::empty(entry.shape, dtype);
  std::memcpy(out.data<char>(), data.bytes().data() + entry.offset, size);
  return out;
}

}  // namespace tessera::tensorflow
