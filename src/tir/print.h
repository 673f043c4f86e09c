#pragma once
// Printing loop programs. Three forms live side by side, as users know them:
//   repr(x)     the plain node printer (ir/repr.h): (x + 1)
//   str(x)      the text form with types at first use: (x: int32 + 1), @main = primfn(...) { ... }
//   x.script()  TVMScript, which can be read back

#include <functional>
#include <string>

#include "base/object.h"

namespace tessera {

/// The text form of an expression, statement, function or module; of other objects the plain form.
std::string text_form(const ObjectRef& object);
/// The text form with the line of its version, and the objects that text cannot show written out after it.
std::string text_form_with_metadata(const ObjectRef& object, bool show_metadata);

/// TVMScript of a module, a function, or a part of one. `prefix` is the name the tir dialect is imported under.
std::string tvm_script(const ObjectRef& object, const std::string& prefix = "T", bool show_metadata = false);

/// How a tensor that is not yet memory is called in loads and stores. Rooms with such nodes say it here.
using ProducerName = std::function<std::string(const Object*)>;
void set_producer_name(const NodeInfo& type, ProducerName name);
std::string producer_name(const Object* producer);

}  // namespace tessera
