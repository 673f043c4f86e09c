# The header-only libraries that our code includes: fmt, and beside it DLPack, nlohmann-json, xxHash and OpenCL's headers.

if(CMAKE_CROSSCOMPILING)
  # They are this machine's, and their folder holds headers that the other machine must not see: link to just these.
  set(headers ${PROJECT_BINARY_DIR}/headers)
  file(MAKE_DIRECTORY ${headers})
  foreach(name fmt dlpack nlohmann CL xxhash.h)
    find_path(TESSERA_${name}_HEADERS ${name} HINTS /usr/include REQUIRED NO_CMAKE_FIND_ROOT_PATH)
    file(CREATE_LINK ${TESSERA_${name}_HEADERS}/${name} ${headers}/${name} SYMBOLIC)
  endforeach()
  add_library(fmt::fmt-header-only INTERFACE IMPORTED)
  target_include_directories(fmt::fmt-header-only INTERFACE ${headers})
  target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
else()
  find_package(fmt REQUIRED)
endif()
