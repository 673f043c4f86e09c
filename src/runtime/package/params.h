#pragma once
// Named tensors as one binary: the parameter file of v0.10.

#include "runtime/byte_stream.h"
#include "runtime/ndarray.h"

namespace tessera {

/// Tensors of any device; they are stored as host tensors, in the order of the map.
std::string save_params(const Map<String, NDArray>& params);
/// The same, handed on part by part: tensors of the host are not copied.
void write_params(const Sink& out, const Map<String, NDArray>& params);
/// Reads them back as host tensors. Data that is cut short, forged or not of this form is an error that says where.
Map<String, NDArray> load_params(std::string_view data);

/// One tensor in the form it has inside a parameter file.
void write_tensor(ByteWriter& out, const NDArray& array);
void write_tensor(const Sink& out, const NDArray& array);
NDArray read_tensor(ByteReader& in);

}  // namespace tessera
