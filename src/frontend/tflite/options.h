#pragma once
// Options of operators as attributes.

#include "frontend/tflite/flatbuffer.h"
#include "frontend/tflite/model.h"

namespace tessera::tflite {

/// `options` is the number that the schema's union of options gives the table.
tensorflow::Attributes attributes_of(int options, const TableView& table);
/// Options of a custom operator, a FlexBuffer; empty where they are something else.
tensorflow::Attributes custom_attributes(std::string_view bytes);

}  // namespace tessera::tflite
