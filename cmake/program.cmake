# The program `tessera`, which is also `tvmc`: the compiler's library with a command line.

if(TARGET tessera AND EXISTS ${PROJECT_SOURCE_DIR}/src/driver/cli/main.cc)
  add_executable(tessera_program ${PROJECT_SOURCE_DIR}/src/driver/cli/main.cc)
  target_link_libraries(tessera_program PRIVATE tessera)
  if(TESSERA_IN_PLACE)
    set(folder ${PROJECT_SOURCE_DIR}/python/tessera/bin)
  else()
    set(folder ${PROJECT_BINARY_DIR}/bin)
  endif()
  set_target_properties(tessera_program PROPERTIES OUTPUT_NAME tessera RUNTIME_OUTPUT_DIRECTORY ${folder}
                        INSTALL_RPATH "$ORIGIN/../lib" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS tessera_program RUNTIME DESTINATION tessera/bin)
endif()
