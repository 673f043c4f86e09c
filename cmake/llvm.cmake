# LLVM 19, linked statically and with hidden symbols, so that another LLVM in the same process (torch, a GPU
# driver) and ours never meet. Only src/codegen/llvm sees its headers.

set(TESSERA_LLVM_TARGETS X86 AArch64 ARM RISCV NVPTX AMDGPU)

function(tessera_find_llvm)
  set(ZLIB_USE_STATIC_LIBS ON)
  find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/llvm)
  find_package(LLD REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/lld)

  # Debian's targets name shared libraries that a wheel's user may not have. LLVM itself, zlib and zstd are taken
  # static; Z3 and libxml2 serve parts (the solver interface, Windows manifests) that nothing of ours reaches.
  foreach(target LLVMSupport LLVMWindowsManifest LLVMExtensions lldCommon lldELF)
    get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
    list(FILTER needs EXCLUDE REGEX "^LLVM$|^Polly$|libz3|LibXml2")
    list(TRANSFORM needs REPLACE "^zstd::libzstd_shared$" "zstd::libzstd_static")
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${needs}")
  endforeach()

  llvm_map_components_to_libnames(libraries
    core support target targetparser analysis passes orcjit orctargetprocess
    bitreader bitwriter irreader linker option
    ${TESSERA_LLVM_TARGETS})
  # What reads machine code, and what reads assembly for AMD's GPUs: 6 MB of tables for `asm` inside kernels that nobody writes.
  list(FILTER libraries EXCLUDE REGEX "Disassembler$|TargetMCA$|AMDGPUAsmParser$")
  set(TESSERA_LLVM_LIBRARIES lldELF lldCommon ${libraries} PARENT_SCOPE)
  set(TESSERA_LLVM_INCLUDE_DIRS ${LLVM_INCLUDE_DIRS} PARENT_SCOPE)
  set(TESSERA_LLVM_VERSION ${LLVM_PACKAGE_VERSION} PARENT_SCOPE)
  set(LLVM_TARGETS_TO_BUILD ${LLVM_TARGETS_TO_BUILD} PARENT_SCOPE)
endfunction()

# LLD registers every part of every back end LLVM was built with. Empty functions stand in for those that we leave out.
function(tessera_llvm_stand_ins file)
  set(text "// Written by cmake/llvm.cmake: the parts of LLVM that are left out, for LLD to find.\nextern \"C\" {\n")
  foreach(target IN LISTS LLVM_TARGETS_TO_BUILD)
    set(parts TargetInfo Target TargetMC AsmPrinter AsmParser)
    if(target STREQUAL "AMDGPU")
      set(parts AsmParser)
    elseif(target IN_LIST TESSERA_LLVM_TARGETS)
      continue()
    endif()
    foreach(part IN LISTS parts)
      string(APPEND text "__attribute__((visibility(\"hidden\"))) void LLVMInitialize${target}${part}() {}\n")
    endforeach()
  endforeach()
  string(APPEND text "}\n")
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

# src/codegen/llvm as the object library tessera_room_llvm; with a pch.h of its own, LLVM's headers are read once.
macro(tessera_llvm_room)
  file(GLOB_RECURSE llvm_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/codegen/llvm/*.cc)
  if(llvm_sources)
    tessera_find_llvm()
    set(stand_ins ${CMAKE_CURRENT_BINARY_DIR}/llvm_stand_ins.cc)
    tessera_llvm_stand_ins(${stand_ins})
    tessera_objects(tessera_room_llvm ir ${llvm_sources} ${stand_ins})
    target_include_directories(tessera_room_llvm SYSTEM PRIVATE ${TESSERA_LLVM_INCLUDE_DIRS})
    if(TESSERA_UNITY)
      target_include_directories(tessera_room_llvm_apart SYSTEM PRIVATE ${TESSERA_LLVM_INCLUDE_DIRS})
    endif()
  endif()
endmacro()

function(tessera_link_llvm target)
  set(symbols ${PROJECT_SOURCE_DIR}/cmake/hide_llvm.map)
  target_link_libraries(${target} PRIVATE ${TESSERA_LLVM_LIBRARIES})
  target_link_options(${target} PRIVATE
    -Wl,--exclude-libs,ALL            # what comes from LLVM's archives
    -Wl,--version-script=${symbols}   # what our files instantiate from LLVM's headers
    -Wl,--build-id                    # names this compiler in the keys of the kernel cache
    -Wl,--gc-sections)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${symbols})
endfunction()
