#pragma once
// Every operator that loop programs may call, one row each: name (called "tir.<name>"), number of inputs (-1: any),
// what a call does besides giving its value, and whether it works lane by lane on vectors.

// clang-format off
#define TESSERA_BUILTIN_OPS(X)                                   \
  /* control and markers */                                      \
  X(ret, 1, ControlJump, false)                                  \
  X(likely, 1, ExprAnnotation, true)                             \
  X(assume, 1, EmbedInfo, false)                                 \
  X(undef, 0, ReadState, false)                                  \
  X(type_annotation, -1, Pure, false)                            \
  X(if_then_else, 3, Pure, false)                                \
  /* bits and values */                                          \
  X(reinterpret, 1, Pure, false)                                 \
  X(bitwise_and, 2, Pure, true)                                  \
  X(bitwise_or, 2, Pure, true)                                   \
  X(bitwise_xor, 2, Pure, true)                                  \
  X(bitwise_not, 1, Pure, true)                                  \
  X(shift_left, 2, Pure, true)                                   \
  X(shift_right, 2, Pure, true)                                  \
  X(popcount, 1, Pure, true)                                     \
  X(clz, 1, Pure, false)                                         \
  X(large_uint_imm, 2, Pure, false)                              \
  X(q_multiply_shift, 3, Pure, true)                             \
  X(isnullptr, 1, Pure, false)                                   \
  X(isnan, 1, Pure, false)                                       \
  X(address_of, 1, Pure, false)                                  \
  /* real functions */                                           \
  X(exp, 1, Pure, true)                                          \
  X(exp2, 1, Pure, true)                                         \
  X(exp10, 1, Pure, true)                                        \
  X(erf, 1, Pure, false)                                         \
  X(log, 1, Pure, true)                                          \
  X(log2, 1, Pure, true)                                         \
  X(log10, 1, Pure, true)                                        \
  X(log1p, 1, Pure, false)                                       \
  X(sin, 1, Pure, true)                                          \
  X(sinh, 1, Pure, true)                                         \
  X(asin, 1, Pure, false)                                        \
  X(asinh, 1, Pure, false)                                       \
  X(cos, 1, Pure, true)                                          \
  X(cosh, 1, Pure, true)                                         \
  X(acos, 1, Pure, false)                                        \
  X(acosh, 1, Pure, false)                                       \
  X(tan, 1, Pure, true)                                          \
  X(tanh, 1, Pure, true)                                         \
  X(atan, 1, Pure, false)                                        \
  X(atanh, 1, Pure, false)                                       \
  X(atan2, 2, Pure, false)                                       \
  X(sigmoid, 1, Pure, false)                                     \
  X(sqrt, 1, Pure, true)                                         \
  X(rsqrt, 1, Pure, false)                                       \
  X(fabs, 1, Pure, true)                                         \
  X(pow, 2, Pure, true)                                          \
  X(fma, 3, Pure, true)                                          \
  X(fmod, 1, Pure, false)                                        \
  X(floor, 1, Pure, true)                                        \
  X(ceil, 1, Pure, true)                                         \
  X(trunc, 1, Pure, true)                                        \
  X(round, 1, Pure, true)                                        \
  X(nearbyint, 1, Pure, false)                                   \
  X(nextafter, 2, Pure, false)                                   \
  X(hypot, 2, Pure, false)                                       \
  X(copysign, 2, Pure, false)                                    \
  X(ldexp, 2, Pure, false)                                       \
  /* calls */                                                    \
  X(call_extern, -1, Opaque, false)                              \
  X(call_pure_extern, -1, Pure, false)                           \
  X(call_llvm_intrin, -1, Opaque, false)                         \
  X(call_llvm_pure_intrin, -1, Pure, false)                      \
  X(call_spirv_pure_glsl450, -1, Pure, false)                    \
  X(tvm_call_packed, -1, Opaque, false)                          \
  X(tvm_call_cpacked, -1, Opaque, false)                         \
  X(tvm_call_trace_packed, -1, Opaque, false)                    \
  X(tvm_call_packed_lowered, -1, Opaque, false)                  \
  X(tvm_call_cpacked_lowered, -1, Opaque, false)                 \
  X(tvm_call_trace_packed_lowered, -1, Opaque, false)            \
  X(tvm_check_return, 3, Pure, false)                            \
  X(tvm_throw_last_error, 0, Opaque, false)                      \
  X(lookup_param, 4, Opaque, false)                              \
  /* memory and argument structures */                           \
  X(prefetch, -1, Opaque, false)                                 \
  X(tvm_access_ptr, 5, SpecialCallArg, false)                    \
  X(tvm_static_handle, 0, SpecialCallArg, false)                 \
  X(tvm_context_id, 0, ReadState, false)                         \
  X(tvm_tuple, -1, EmbedInfo, false)                             \
  X(tvm_struct_get, 3, ReadState, false)                         \
  X(tvm_struct_set, 4, UpdateState, false)                       \
  X(tvm_stack_alloca, 2, Opaque, false)                          \
  X(tvm_stack_make_shape, -1, Opaque, false)                     \
  X(tvm_stack_make_array, 6, Opaque, false)                      \
  X(nd_mem_alloc_with_scope, -1, Opaque, false)                  \
  X(TVMBackendAllocWorkspace, 5, Opaque, false)                  \
  X(TVMBackendFreeWorkspace, 3, Opaque, false)                   \
  X(texture2d_store, -1, Opaque, true)                           \
  X(texture2d_load, -1, Opaque, true)                            \
  X(mem_copy, -1, Opaque, false)                                 \
  X(dma_copy, -1, Opaque, false)                                 \
  X(dma_wait, -1, Opaque, false)                                 \
  /* threads */                                                  \
  X(tvm_thread_context, 1, Opaque, false)                        \
  X(tvm_thread_allreduce, -1, Opaque, false)                     \
  X(tvm_storage_sync, -1, Opaque, false)                         \
  X(tvm_warp_shuffle, -1, Opaque, false)                         \
  X(tvm_warp_shuffle_up, -1, Opaque, false)                      \
  X(tvm_warp_shuffle_down, -1, Opaque, false)                    \
  X(tvm_warp_activemask, -1, Opaque, false)                      \
  X(tvm_global_barrier_kinit, -1, Opaque, false)                 \
  X(atomic_add, -1, Opaque, false)                               \
  /* matrix units and vector halves */                           \
  X(tvm_load_matrix_sync, -1, ReadState, false)                  \
  X(tvm_store_matrix_sync, -1, Opaque, false)                    \
  X(tvm_mma_sync, -1, Opaque, false)                             \
  X(tvm_bmma_sync, -1, Opaque, false)                            \
  X(tvm_fill_fragment, -1, Opaque, false)                        \
  X(ptx_mma, -1, Opaque, false)                                  \
  X(ptx_mma_sp, -1, Opaque, false)                               \
  X(ptx_ldmatrix, -1, Opaque, false)                             \
  X(ptx_cp_async, -1, Opaque, false)                             \
  X(ptx_commit_group, -1, Opaque, false)                         \
  X(ptx_wait_group, -1, Opaque, false)                           \
  X(mma_store, -1, Opaque, false)                                \
  X(mma_fill, -1, Opaque, false)                                 \
  X(vectorlow, -1, Pure, false)                                  \
  X(vectorhigh, -1, Pure, false)                                 \
  X(vectorcombine, -1, Pure, false)
// clang-format on
