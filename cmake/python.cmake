# The Python extension tessera._ffi_core from python/ffi, the one folder that includes nanobind.

file(GLOB_RECURSE ffi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/ffi/*.cc)
if(TESSERA_PYTHON AND ffi_sources)
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind. `make build` sets up .venv with it; "
                        "or give -DPython_EXECUTABLE=..., or -DTESSERA_PYTHON=OFF.")
  endif()
  find_package(nanobind CONFIG REQUIRED)

  # Speed over size, because every call from Python goes through here. Visibility stays default: the inline
  # variables and type information of our headers must be the libraries' own.
  nanobind_add_module(_ffi_core NB_STATIC NOMINSIZE NB_DOMAIN tessera ${ffi_sources})
  # It knows the runtime only; the package loads the compiler's library where there is one.
  target_link_libraries(_ffi_core PRIVATE tessera_runtime)
  target_include_directories(_ffi_core PRIVATE ${PROJECT_SOURCE_DIR})
  # Types of the C API are filled in member by member, and ours hold nanobind's, which are hidden.
  target_compile_options(_ffi_core PRIVATE -Wno-missing-field-initializers -Wno-attributes)
  set_target_properties(_ffi_core PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF
                        INSTALL_RPATH "$ORIGIN/lib" BUILD_WITH_INSTALL_RPATH ON)
  if(TESSERA_IN_PLACE)
    set_target_properties(_ffi_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/python/tessera)
  endif()
  install(TARGETS _ffi_core LIBRARY DESTINATION tessera)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION tessera/include OPTIONAL FILES_MATCHING PATTERN "*.h")
