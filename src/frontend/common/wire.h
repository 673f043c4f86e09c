#pragma once
// The reader of protobuf's wire format, and what it says of bytes that are none.

#include <cstdlib>
#include <new>
#include <protozero/exception.hpp>
#include <string_view>

#include "base/error.h"

namespace tessera::frontend {

/// A field is of another wire type than its number has. That is a promise that the file breaks, not we: an error, also in
/// release builds, where protozero would not look.
struct WrongWireType : protozero::exception {};

}  // namespace tessera::frontend

// There is one meaning of this for the whole program: protozero's functions are inline.
#define protozero_assert(condition) ((condition) ? static_cast<void>(0) : throw tessera::frontend::WrongWireType())
#include <protozero/pbf_reader.hpp>

namespace tessera::frontend {

inline std::string_view view_of(const protozero::data_view& bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view next_view(protozero::pbf_reader& in) { return view_of(in.get_view()); }
inline protozero::pbf_reader reader_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

/// Each number of a repeated field, packed or not, goes to `add`.
template <class One, class Packed, class Add>
void for_each_number(protozero::pbf_reader& in, One&& one, Packed&& packed, Add&& add) {
  if (in.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (auto value : packed()) add(value);
  } else {
    add(one());
  }
}

/// What `parse` gives. What the reader throws goes, in words, to `damaged`, which throws; `name` is what is read.
template <class Parse, class Damaged>
auto read_wire(std::string_view name, Parse&& parse, Damaged&& damaged) -> decltype(parse()) {
  const char* how = "the length of a field does not fit what it holds";
  try {
    return parse();
  } catch (const WrongWireType&) {
    how = "a field is not of the type it must have";
  } catch (const protozero::end_of_buffer_exception&) {
    how = "the data ends in the middle of a field";
  } catch (const protozero::varint_too_long_exception&) {
    how = "a number has more than ten bytes";
  } catch (const protozero::unknown_pbf_wire_type_exception&) {
    how = "a field is of a type that protobuf does not have";
  } catch (const protozero::invalid_tag_exception&) {
    how = "a field has a number that protobuf does not allow";
  } catch (const protozero::exception&) {
  } catch (const std::bad_alloc&) {
    throw Error(ValueError) << std::string(name) << " does not fit into memory";
  }
  damaged(how);
  std::abort();  // it throws
}

}  // namespace tessera::frontend
