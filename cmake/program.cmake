# The program `tessera`, which is also `tvmc`: the compiler's library with a command line. Beside it tessera-rpc-server, which needs
# the runtime alone and is built for other machines too.

function(tessera_program target name source library)
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE ${library})
  if(TESSERA_IN_PLACE)
    set(folder ${PROJECT_SOURCE_DIR}/python/tessera/bin)
  else()
    set(folder ${PROJECT_BINARY_DIR}/bin)
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${folder}
                        INSTALL_RPATH "$ORIGIN/../lib" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} RUNTIME DESTINATION tessera/bin)
endfunction()

if(TARGET tessera_runtime)
  tessera_program(tessera_rpc_server tessera-rpc-server ${PROJECT_SOURCE_DIR}/src/runtime/rpc/program/rpc_server.cc tessera_runtime)
endif()
if(TARGET tessera AND EXISTS ${PROJECT_SOURCE_DIR}/src/driver/cli/main.cc)
  tessera_program(tessera_program tessera ${PROJECT_SOURCE_DIR}/src/driver/cli/main.cc tessera)
endif()
