# What a builder may choose, and the compiler and linker flags that follow.

option(TESSERA_IN_PLACE "Put the libraries into python/tessera, where an edit-build-run cycle finds them" OFF)
option(TESSERA_COMPILER "Build the compiler; without it there is the runtime alone, which needs no LLVM" ON)
option(TESSERA_PYTHON "Build the Python extension" ON)
option(TESSERA_TESTS "Build the C and C++ tests" ON)
option(TESSERA_FUZZ "Build tests/fuzz for libFuzzer, everything watched by it; needs clang" OFF)
option(TESSERA_BENCH "Build the C++ benchmarks" OFF)
option(TESSERA_PCH "Precompile the headers of base and ir" ON)
option(TESSERA_CCACHE "Use ccache when it is installed" ON)
option(TESSERA_MOLD "Link with mold when it is installed" ON)
option(TESSERA_WERROR "Treat warnings as errors" OFF)
set(TESSERA_SANITIZE "" CACHE STRING "address (with undefined behaviour), thread, or nothing")
set_property(CACHE TESSERA_SANITIZE PROPERTY STRINGS "" address thread)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)  # a library rebuilt with the same interface does not relink its users

# Same code on every machine: no -march, and no -ffast-math, because users have NaNs.
foreach(lang C CXX)
  set(CMAKE_${lang}_FLAGS_RELEASE "-O2 -g0 -DNDEBUG")
  set(CMAKE_${lang}_FLAGS_DEBUG "-O0 -g")
endforeach()
add_compile_options(-fno-omit-frame-pointer -fno-semantic-interposition -Wall -Wextra -Wno-missing-field-initializers)
if(TESSERA_WERROR)
  add_compile_options(-Werror)
endif()

if(TESSERA_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(TESSERA_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(TESSERA_SANITIZE)
  message(FATAL_ERROR "TESSERA_SANITIZE is '${TESSERA_SANITIZE}'; it may be address, thread or empty")
endif()
if(TESSERA_FUZZ)
  list(APPEND sanitize -fsanitize=fuzzer-no-link)
endif()
if(sanitize)
  add_compile_options(${sanitize} -O1 -g1)
  add_link_options(${sanitize})
endif()

add_compile_definitions(TESSERA_VERSION="${PROJECT_VERSION}")
find_package(Threads REQUIRED)
include(headers)

if(TESSERA_MOLD AND NOT CMAKE_CROSSCOMPILING)
  find_program(MOLD mold)
  if(MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

# A second clone in another folder hits the cache too: paths are made relative to the source folder, and the
# folder itself is not hashed. The sloppiness is what ccache's manual asks for where headers are precompiled.
if(TESSERA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                 CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  endif()
endif()
