# tests/cpp: two GoogleTest programs, of the runtime and of the compiler. tests/c: one program a file, in C, that knows only the runtime.
# tests/cross: what runs on other machines.
# bench/cpp: one Google Benchmark program.

if(TESSERA_TESTS)
  enable_testing()
  # What base and runtime promise is tested without the compiler, so that their tests can be built alone.
  file(GLOB_RECURSE runtime_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cpp/base/*.cc
                                                    ${PROJECT_SOURCE_DIR}/tests/cpp/runtime/*.cc)
  if(runtime_tests AND TARGET tessera_runtime AND NOT CMAKE_CROSSCOMPILING)
    find_package(GTest REQUIRED)
    tessera_objects(tessera_runtime_tests_objects base ${runtime_tests})
    target_include_directories(tessera_runtime_tests_objects PRIVATE ${PROJECT_SOURCE_DIR}/tests/cpp ${PROJECT_SOURCE_DIR}/tests)
    add_executable(tessera_runtime_tests $<TARGET_OBJECTS:tessera_runtime_tests_objects>)
    set_target_properties(tessera_runtime_tests PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(tessera_runtime_tests PRIVATE tessera_runtime GTest::gmock GTest::gtest_main)
    add_test(NAME cpp_runtime COMMAND tessera_runtime_tests --gtest_brief=1)
    set_tests_properties(cpp_runtime PROPERTIES TIMEOUT 600)
  endif()

  file(GLOB_RECURSE cpp_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cpp/*.cc)
  list(REMOVE_ITEM cpp_tests ${runtime_tests})
  if(cpp_tests AND TARGET tessera)
    find_package(GTest REQUIRED)
    tessera_objects(tessera_tests_objects ir ${cpp_tests})
    target_include_directories(tessera_tests_objects PRIVATE ${PROJECT_SOURCE_DIR}/tests/cpp ${PROJECT_SOURCE_DIR}/tests)
    add_executable(tessera_tests $<TARGET_OBJECTS:tessera_tests_objects>)
    set_target_properties(tessera_tests PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(tessera_tests PRIVATE tessera tessera_runtime GTest::gmock GTest::gtest_main)
    # One process for many tests, in two halves so that two cores are busy.
    foreach(half 0 1)
      add_test(NAME cpp_${half} COMMAND tessera_tests --gtest_brief=1)
      set_tests_properties(cpp_${half} PROPERTIES TIMEOUT 600
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
    endforeach()
  endif()

  file(GLOB c_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/c/*.c)
  if(TARGET tessera_runtime)
    foreach(source IN LISTS c_tests)
      cmake_path(GET source STEM name)
      add_executable(c_${name} ${source})
      target_compile_options(c_${name} PRIVATE -pedantic)
      target_include_directories(c_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
      target_link_libraries(c_${name} PRIVATE $<TARGET_FILE:tessera_runtime>)  # the library, not its C++ flags
      add_dependencies(c_${name} tessera_runtime)
      set_target_properties(c_${name} PROPERTIES BUILD_RPATH $<TARGET_FILE_DIR:tessera_runtime>)
      add_test(NAME c_${name} COMMAND c_${name})
      set_tests_properties(c_${name} PROPERTIES TIMEOUT 120)
    endforeach()

    # Runs compiled functions, here or on another machine, for tests/python/codegen/test_agreement.py.
    add_executable(run_programs ${PROJECT_SOURCE_DIR}/tests/cross/run_programs.c)
    target_include_directories(run_programs PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(run_programs PRIVATE $<TARGET_FILE:tessera_runtime>)
    add_dependencies(run_programs tessera_runtime)
    # $ORIGIN/lib too: a cross build is copied to its machine as one folder.
    set_target_properties(run_programs PROPERTIES ENABLE_EXPORTS ON BUILD_RPATH "$<TARGET_FILE_DIR:tessera_runtime>;$ORIGIN/lib")
  endif()
endif()

# tests/fuzz: one program a file, which reads bytes as one of our readers does. Tests replay tests/fuzz/corpus through
# them; with TESSERA_FUZZ (and clang) they are libFuzzer's instead, see `make fuzz`.
if((TESSERA_TESTS OR TESSERA_FUZZ) AND TARGET tessera AND NOT CMAKE_CROSSCOMPILING)
  file(GLOB fuzz_targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*.cc)
  list(REMOVE_ITEM fuzz_targets ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc)
  if(NOT TESSERA_FUZZ)
    add_library(tessera_fuzz_replay OBJECT ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc)
  endif()
  foreach(source IN LISTS fuzz_targets)
    cmake_path(GET source STEM name)
    add_executable(fuzz_${name} ${source})
    target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz)
    target_link_libraries(fuzz_${name} PRIVATE tessera tessera_runtime)
    set_target_properties(fuzz_${name} PROPERTIES BUILD_RPATH $<TARGET_FILE_DIR:tessera>)
    if(TESSERA_FUZZ)
      target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    else()
      target_link_libraries(fuzz_${name} PRIVATE tessera_fuzz_replay)
      add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
      set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300)
    endif()
  endforeach()
endif()

if(TESSERA_BENCH)
  file(GLOB_RECURSE benches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/cpp/*.cc)
  if(benches AND TARGET tessera)
    find_package(benchmark REQUIRED)
    add_executable(tessera_bench ${benches})
    target_link_libraries(tessera_bench PRIVATE tessera tessera_runtime benchmark::benchmark_main)
  endif()
endif()
