# The libraries and the program once more, linked from the same objects for old systems: what a wheel holds.
# `ninja -C build portable` writes them to build/portable; cmake with -DTESSERA_PREBUILT=build/portable then builds the
# Python extension alone, for one interpreter, beside them. tools/wheels.py does both.

set(TESSERA_OLD_GLIBC 2.17)  # src/base/old_glibc.c has what this one lacks

# Everything that is linked for old systems is linked with this.
function(tessera_portable_flags glibc)
  add_library(tessera_old_glibc STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/src/base/old_glibc.c)
  target_compile_options(tessera_old_glibc PRIVATE -ffunction-sections)
  add_library(tessera_portable_flags INTERFACE)
  target_link_libraries(tessera_portable_flags INTERFACE tessera_old_glibc gcc)  # GCC's helpers before newer ones of libgcc_s
  target_link_options(tessera_portable_flags INTERFACE
    -B${glibc} -L${glibc}  # link-time stand-ins for the old C library, see tools/old_glibc.py
    # Each library has a libstdc++ of its own, hidden, since GCC 12's is newer than that of old systems. Exceptions pass from one to
    # the other by the one unwinder that all of the process share: libgcc_s.so.1 is old enough everywhere.
    -static-libstdc++ -Wl,--exclude-libs,ALL
    -Wl,-s -Wl,--gc-sections)
  if(MOLD AND TESSERA_MOLD)
    target_link_options(tessera_portable_flags INTERFACE -Wl,--icf=all)  # functions with the same instructions become one
  endif()
endfunction()

# tessera_portable(target): <target>_portable, of the same objects and linked with what `target` is linked with.
function(tessera_portable target)
  get_target_property(type ${target} TYPE)
  get_target_property(sources ${target} SOURCES)
  if(type STREQUAL "EXECUTABLE")
    add_executable(${target}_portable EXCLUDE_FROM_ALL ${sources})
  else()
    add_library(${target}_portable SHARED EXCLUDE_FROM_ALL ${sources})
  endif()
  set_target_properties(${target}_portable PROPERTIES OUTPUT_NAME ${target})
  foreach(property OUTPUT_NAME LINKER_LANGUAGE LINK_LIBRARIES LINK_OPTIONS INCLUDE_DIRECTORIES INTERFACE_LINK_LIBRARIES
                   INTERFACE_INCLUDE_DIRECTORIES INSTALL_RPATH BUILD_WITH_INSTALL_RPATH)
    get_target_property(value ${target} ${property})
    if(value)
      if(property MATCHES "LINK_LIBRARIES")
        list(TRANSFORM value REPLACE "^(tessera|tessera_runtime)$" "\\1_portable")
      endif()
      list(FILTER value EXCLUDE REGEX "--version-script=")
      set_target_properties(${target}_portable PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  set_target_properties(${target}_portable PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable/lib RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable/bin)
  target_link_libraries(${target}_portable PRIVATE tessera_portable_flags)
  add_dependencies(${target}_portable tessera_old_glibc_stubs)
  add_dependencies(portable ${target}_portable)
endfunction()

if(TESSERA_PREBUILT)
  file(REAL_PATH ${TESSERA_PREBUILT} prebuilt)
  tessera_portable_flags(${prebuilt}/glibc)
  add_library(tessera_runtime SHARED IMPORTED)
  set_target_properties(tessera_runtime PROPERTIES IMPORTED_LOCATION ${prebuilt}/lib/libtessera_runtime.so)
  target_include_directories(tessera_runtime INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tessera_runtime INTERFACE fmt::fmt-header-only Threads::Threads tessera_portable_flags)
  install(DIRECTORY ${prebuilt}/lib ${prebuilt}/bin DESTINATION tessera USE_SOURCE_PERMISSIONS)
elseif(TARGET tessera_program AND Python_EXECUTABLE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64"
       AND NOT CMAKE_CROSSCOMPILING AND NOT TESSERA_SANITIZE)
  set(glibc ${PROJECT_BINARY_DIR}/portable/glibc)
  set(tool ${PROJECT_SOURCE_DIR}/tools/old_glibc.py)
  add_custom_command(OUTPUT ${glibc}/libc.so COMMAND ${Python_EXECUTABLE} ${tool} ${TESSERA_OLD_GLIBC} ${glibc}
                     DEPENDS ${tool} VERBATIM)
  add_custom_target(tessera_old_glibc_stubs DEPENDS ${glibc}/libc.so)
  tessera_portable_flags(${glibc})
  add_custom_target(portable)
  foreach(target tessera_runtime tessera tessera_tvm_compat tessera_program)
    tessera_portable(${target})
  endforeach()

  # libtessera exports little: 11000 names of a compiler and of what is in it are 2 MB, and in the way of others' names.
  set(exports ${PROJECT_BINARY_DIR}/portable/exports.map)
  set(tool ${PROJECT_SOURCE_DIR}/tools/export_map.py)
  add_custom_command(OUTPUT ${exports} VERBATIM DEPENDS ${tool} tessera_runtime_portable
                     COMMAND ${Python_EXECUTABLE} ${tool} $<TARGET_FILE:tessera_runtime_portable> ${exports} _ZN7tessera3cli3runEiPPc)
  add_custom_target(tessera_exports DEPENDS ${exports})
  add_dependencies(tessera_portable tessera_exports)
  target_link_options(tessera_portable PRIVATE -Wl,--version-script=${exports})
  set_property(TARGET tessera_portable APPEND PROPERTY LINK_DEPENDS ${exports})
endif()
