#pragma once
// The keys of AttrStmt and of PrimFunc attributes, with what stands in `node` and `value`.

namespace tessera::attr {

// ---- AttrStmt: threads and scopes ----
inline constexpr const char* kThreadExtent = "thread_extent";         // node: IterVar; value: extent
inline constexpr const char* kVirtualThread = "virtual_thread";       // node: IterVar; value: extent
inline constexpr const char* kCoprocScope = "coproc_scope";           // node: IterVar; value: queue id
inline constexpr const char* kDeviceId = "device_id";                 // node: "default"; value: index of the device
inline constexpr const char* kDeviceType = "device_type";             // node: "default"; value: DLDeviceType
inline constexpr const char* kDeviceScope = "device_scope";           // the body runs on the device
inline constexpr const char* kComputeScope = "compute_scope";         // value: name of the body as a function
inline constexpr const char* kExternScope = "extern_scope";           // the body came from an extern operation
inline constexpr const char* kScanInitScope = "scan_init_scope";      // the body is the init nest of a scan
inline constexpr const char* kScanUpdateScope = "scan_update_scope";  // the body is the update nest of a scan
inline constexpr const char* kOwnBarriers = "own_barriers";           // the body orders its accesses of shared memory
inline constexpr const char* kMinBlocks = "min_blocks";               // value: that a multiprocessor has room for
inline constexpr const char* kReduceScope = "reduce_scope";           // node: CommReducer of a cross-thread reduction

// ---- AttrStmt: memory ----
inline constexpr const char* kStorageAlignment = "storage_alignment";     // node: pointer Var; value: bytes
inline constexpr const char* kDoubleBufferScope = "double_buffer_scope";  // node: Buffer or its Var
inline constexpr const char* kDoubleBufferWrite = "double_buffer_write";  // node: Var; the body fills the next buffer
inline constexpr const char* kRollingBufferScope = "rolling_buffer_scope";
inline constexpr const char* kBufferDimAlign = "buffer_dim_align";  // node: Buffer; value: tuple(axis, factor, offset)
inline constexpr const char* kBufferBindScope =
    "buffer_bind_scope";  // node: [view Buffer, Buffer]; value: tuple(min, extent, ...)
inline constexpr const char* kBufferBound = "buffer_bound";      // node: Var; value: extents, for bound checkers
inline constexpr const char* kVolatileScope = "volatile_scope";  // node: Var
inline constexpr const char* kPrefetchScope = "prefetch_scope";  // node: Tensor or Buffer; value: how far ahead
inline constexpr const char* kLayoutTransforms = "layout_transforms";
inline constexpr const char* kAxisSeparators = "axis_separators";

// ---- AttrStmt: pragmas (also as loop annotations) ----
inline constexpr const char* kPragmaPrefix = "pragma_";
inline constexpr const char* kPragmaAutoUnrollMaxStep = "pragma_auto_unroll_max_step";
inline constexpr const char* kPragmaUnrollExplicit = "pragma_unroll_explicit";
inline constexpr const char* kPragmaLoopPartitionHint = "pragma_loop_partition_hint";
inline constexpr const char* kPragmaDebugSkipRegion = "pragma_debug_skip_region";
inline constexpr const char* kPragmaImportC = "pragma_import_c";
inline constexpr const char* kPragmaImportLlvm = "pragma_import_llvm";
inline constexpr const char* kPragmaTensorCore = "pragma_tensor_core";

// ---- For annotations: software pipelines ----
inline constexpr const char* kSoftwarePipelineStage = "software_pipeline_stage";  // of each statement of the body
inline constexpr const char* kSoftwarePipelineOrder =
    "software_pipeline_order";  // positions of the statements in the new body
inline constexpr const char* kSoftwarePipelineAsyncStages = "software_pipeline_async_stages";

// ---- AttrStmt: copies that run on their own; value: the queue, which is the stage of the pipeline ----
inline constexpr const char* kAsyncScope = "async_scope";                          // the body may run on its own
inline constexpr const char* kAsyncCommitQueueScope = "async_commit_queue_scope";  // what the body began is one group
inline constexpr const char* kAsyncWaitQueueScope = "async_wait_queue_scope";      // wait for groups of the queue until
inline constexpr const char* kAsyncWaitInflightCount = "async_wait_inflight_count";  // this many are left

// ---- PrimFunc ----
inline constexpr const char* kFromLegacyTeSchedule = "from_legacy_te_schedule";
inline constexpr const char* kNoAlias = "tir.noalias";
inline constexpr const char* kIsEntryFunc = "tir.is_entry_func";
inline constexpr const char* kIsGlobalFunc = "tir.is_global_func";
inline constexpr const char* kDeviceThreadAxis = "tir.device_thread_axis";

// ---- Block annotations ----
inline constexpr const char* kBufferDimAlignAnnotation = "buffer_dim_align";
inline constexpr const char* kScriptParsingDetectAccess = "tir.script_parsing_detect_access";
inline constexpr const char* kManifestSharedMemoryLocalStage = "tir.manifest_shared_memory_local_stage";
inline constexpr const char* kLayoutRewritePreproc = "meta_schedule.layout_rewrite_preproc";  // copies a weight

}  // namespace tessera::attr
