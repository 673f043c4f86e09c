#include "runtime/external/dnnl/library.h"

#ifdef TESSERA_HAS_DNNL
#include <dlfcn.h>

#include "base/error.h"

namespace tessera::dnnl {
namespace {

template <class F>
void find(void* handle, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(handle, name));
  if (!*function) throw Error(RuntimeError) << "libdnnl.so.2 has no " << name << "; it is too old";
}

Library load() {
  void* handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Error(RuntimeError) << "oneDNN is not there (" << dlerror() << "); on Debian: apt install libdnnl2";
  Library out;
#define TESSERA_DNNL_FIND(name) find(handle, "dnnl_" #name, &out.name);
  TESSERA_DNNL_FUNCTIONS(TESSERA_DNNL_FIND)
#undef TESSERA_DNNL_FIND
  check(out.engine_create(&out.engine, dnnl_cpu, 0), "engine_create");
  check(out.stream_create(&out.stream, out.engine, dnnl_stream_in_order), "stream_create");
  return out;
}

}  // namespace

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

void check(dnnl_status_t status, const std::string& what) {
  if (status == dnnl_success) return;
  const char* why = status == dnnl_unimplemented       ? "it has no implementation of that"
                    : status == dnnl_invalid_arguments ? "the arguments are invalid"
                    : status == dnnl_out_of_memory     ? "there is no memory"
                                                       : "it failed";
  throw Error(RuntimeError) << "oneDNN: " << what << ": " << why;
}

}  // namespace tessera::dnnl
#endif
