#pragma once
// oneDNN 2 (Debian's libdnnl2), which is loaded when it is first needed: nothing links to it, and where its headers were not there at
// build time, code for it says so when it is run.

#if __has_include(<oneapi/dnnl/dnnl.h>)
#define TESSERA_HAS_DNNL 1
#include <oneapi/dnnl/dnnl.h>

#include <string>

namespace tessera::dnnl {

// The functions of its C interface that we call, without "dnnl_".
#define TESSERA_DNNL_FUNCTIONS(f)                                                                                      \
  f(engine_create) f(stream_create) f(stream_wait) f(version) f(memory_desc_init_by_strides)                           \
      f(memory_desc_init_by_tag) f(memory_desc_permute_axes) f(memory_desc_equal) f(memory_desc_get_size)              \
          f(memory_create) f(memory_set_data_handle) f(memory_destroy) f(primitive_desc_create)                        \
              f(primitive_desc_destroy) f(primitive_desc_query_md) f(primitive_create) f(primitive_destroy)            \
                  f(primitive_execute) f(reorder_primitive_desc_create) f(concat_primitive_desc_create)                \
                      f(primitive_attr_create) f(primitive_attr_destroy) f(primitive_attr_set_post_ops)                \
                          f(primitive_attr_set_output_scales) f(post_ops_create) f(post_ops_destroy)                   \
                              f(post_ops_append_sum) f(post_ops_append_eltwise)                                        \
                                  f(dilated_convolution_forward_desc_init) f(dilated_deconvolution_forward_desc_init)  \
                                      f(matmul_desc_init) f(pooling_v2_forward_desc_init) f(eltwise_forward_desc_init) \
                                          f(binary_desc_init) f(softmax_forward_desc_init)                             \
                                              f(logsoftmax_forward_desc_init) f(layer_normalization_forward_desc_init)

struct Library {
#define TESSERA_DNNL_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  TESSERA_DNNL_FUNCTIONS(TESSERA_DNNL_MEMBER)
#undef TESSERA_DNNL_MEMBER
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
};

/// The library; an error that says how to get it where it is not there.
const Library& library();
/// Throws when a call of the library failed.
void check(dnnl_status_t status, const std::string& what);

}  // namespace tessera::dnnl
#endif
