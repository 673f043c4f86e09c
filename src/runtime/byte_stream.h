#pragma once
// Little-endian binary data as v0.10 writes it: plain numbers, and strings and vectors led by a 64-bit count.
// A reader trusts nothing: a count that the rest of the data cannot hold is an error that says what and where.

#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace tessera {

/// Takes bytes part by part.
using Sink = std::function<void(std::string_view)>;

class ByteWriter {
 public:
  ByteWriter() = default;
  /// Hands on what is written instead of collecting it, long parts from where they lie. `flush` hands on the rest.
  explicit ByteWriter(Sink to) : to_(std::move(to)) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  void write(T value) {
    raw(&value, sizeof value);
  }
  void write(std::string_view text) {
    write(uint64_t{text.size()});
    raw(text.data(), text.size());
  }
  void write(const char* text) { write(std::string_view(text)); }
  void write(const std::vector<uint64_t>& values) {
    write(uint64_t{values.size()});
    raw(values.data(), values.size() * sizeof(uint64_t));
  }
  void raw(const void* data, size_t bytes) {
    std::string_view part(static_cast<const char*>(data), bytes);
    size_ += bytes;
    if (to_ && out_.size() + bytes > kCollected) flush();
    if (to_ && bytes > kCollected) return to_(part);
    out_.append(part);
  }
  void flush() {
    if (to_ && !out_.empty()) to_(out_);
    if (to_) out_.clear();
  }

  std::string take() { return std::move(out_); }
  /// Bytes that were written so far.
  size_t size() const { return size_; }

 private:
  static constexpr size_t kCollected = 1 << 16;  // bytes that are handed on together
  std::string out_;
  size_t size_ = 0;
  Sink to_;
};

/// What `body` writes into a ByteWriter, led by its length. `body` is called twice and gives the same bytes.
template <class F>
void write_sized(ByteWriter& out, F&& body) {
  ByteWriter counted([](std::string_view) {});
  body(counted);
  out.write(uint64_t{counted.size()});
  body(out);
}

class ByteReader {
 public:
  /// `what` names the data in messages ("parameters", "modules in lib.so").
  ByteReader(std::string_view data, std::string what) : data_(data), what_(std::move(what)) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  T read(const char* part) {
    T value;
    std::memcpy(&value, raw(sizeof value, part).data(), sizeof value);
    return value;
  }
  std::string read_string(const char* part) { return std::string(raw(read_count(1, part), part)); }
  std::vector<uint64_t> read_vector(const char* part) {
    std::vector<uint64_t> values(read_count(sizeof(uint64_t), part));
    if (!values.empty()) std::memcpy(values.data(), raw(values.size() * 8, part).data(), values.size() * 8);
    return values;
  }
  /// A count of items of which each takes at least `item_bytes` of what follows.
  size_t read_count(size_t item_bytes, const char* part) {
    auto count = read<uint64_t>(part);
    if (count > left() / item_bytes) fail(part, "announces " + std::to_string(count) + " items");
    return count;
  }
  /// The next `bytes` bytes, valid as long as the data is.
  std::string_view raw(size_t bytes, const char* part) {
    if (bytes > left()) fail(part, "needs " + std::to_string(bytes) + " bytes");
    std::string_view out = data_.substr(at_, bytes);
    at_ += bytes;
    return out;
  }

  size_t left() const { return data_.size() - at_; }
  size_t position() const { return at_; }
  [[noreturn]] void fail(const char* part, const std::string& problem) const {
    throw Error(ValueError) << "corrupt " << what_ << ": " << part << " at byte " << at_ << " " << problem << "; "
                            << left() << " bytes are left";
  }

 private:
  std::string_view data_;
  std::string what_;
  size_t at_ = 0;
};

}  // namespace tessera
