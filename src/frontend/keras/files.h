#pragma once
// Files of Keras models.

#include "frontend/keras/keras.h"

namespace tessera::keras {

/// True for what only Keras writes: HDF5, or a zip with a model's weights.
bool is_keras_file(std::string_view bytes);
/// `.keras` or `.h5`, by the content; `path` is what messages call it.
GraphModel read_file(std::string_view bytes, const std::string& path);

}  // namespace tessera::keras
