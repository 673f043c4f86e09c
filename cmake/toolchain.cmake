# Cross compilation with Debian's compilers, for `make runtime TARGET=<triple>`:
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/toolchain.cmake -DTESSERA_TRIPLE=aarch64-linux-gnu -DTESSERA_COMPILER=OFF ...
# The compilers are <triple>-gcc and <triple>-g++; packages.txt names their packages.

set(TESSERA_TRIPLE "" CACHE STRING "The machine to build for, as the names of its compilers begin")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TESSERA_TRIPLE)

if(NOT TESSERA_TRIPLE MATCHES "^([a-z0-9_]+)-linux-")
  message(FATAL_ERROR "TESSERA_TRIPLE is '${TESSERA_TRIPLE}'; give a Linux triple such as aarch64-linux-gnu")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
set(CMAKE_C_COMPILER ${TESSERA_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${TESSERA_TRIPLE}-g++)

# Programs are this machine's; headers and libraries are the other's.
set(CMAKE_FIND_ROOT_PATH /usr/${TESSERA_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
