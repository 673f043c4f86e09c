# One look at what will be built.

foreach(room IN LISTS runtime_rooms compiler_rooms ITEMS llvm)
  if(TARGET tessera_room_${room})
    list(APPEND present ${room})
  endif()
endforeach()
list(JOIN present " " present)
message(STATUS "Tessera ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE} ${TESSERA_SANITIZE}")
message(STATUS "  rooms: ${present}")
message(STATUS "  LLVM:  ${TESSERA_LLVM_VERSION}   mold: ${MOLD}   ccache: ${CCACHE}")
