# A room is a folder of src/. It becomes the object library tessera_room_<name>; a room that does not exist yet,
# or has no sources, is no target at all.

# Compiles the precompiled header src/<name>/pch.h once; every room that asks for it shares the result.
# The header is named in <> so that no absolute path gets into the file that ccache hashes.
function(tessera_pch name)
  if(TARGET tessera_pch_${name} OR NOT EXISTS ${PROJECT_SOURCE_DIR}/src/${name}/pch.h)
    return()
  endif()
  file(CONFIGURE OUTPUT pch/${name}.cc CONTENT "// Exists so that CMake compiles src/@name@/pch.h.\n" @ONLY)
  add_library(tessera_pch_${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/pch/${name}.cc)
  tessera_compile_as_ours(tessera_pch_${name})
  tessera_cache_comments(tessera_pch_${name})
  target_precompile_headers(tessera_pch_${name} PRIVATE <${name}/pch.h>)
endfunction()

# Comments count for ccache where headers are precompiled: one from before a comment changed is taken for another file than the
# header of now, which is then read twice.
function(tessera_cache_comments target)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
                          "${CMAKE_COMMAND};-E;env;CCACHE_COMMENTS=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# Lets `target` use the precompiled header of `name`, or of base where `name` has none. codegen/llvm has one of its
# own, because nothing else may see LLVM.
function(tessera_use_pch target name)
  if(NOT TESSERA_PCH)
    return()
  endif()
  if(target STREQUAL tessera_room_llvm AND EXISTS ${PROJECT_SOURCE_DIR}/src/codegen/llvm/pch.h)
    target_precompile_headers(${target} PRIVATE <codegen/llvm/pch.h>)
    tessera_cache_comments(${target})
    return()
  endif()
  foreach(candidate ${name} base)
    tessera_pch(${candidate})
    if(TARGET tessera_pch_${candidate})
      target_precompile_headers(${target} REUSE_FROM tessera_pch_${candidate})
      tessera_cache_comments(${target})
      return()
    endif()
  endforeach()
endfunction()

# The flags that all our objects share; a precompiled header can be used only where they are the same.
function(tessera_compile_as_ours target)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC fmt::fmt-header-only Threads::Threads)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # for ccache
  endif()
endfunction()

# Most of the time of compiling a file goes into the headers it includes. So with TESSERA_UNITY files of one folder are
# compiled as one, at most this many, and never files of two folders. A file that changes takes its neighbours along.
set(tessera_unity_batch 8)
# These are compiled one by one: zip.cc has a definition of its own, the others have equal names at file scope, and files of
# src/kernel mean by Call one of Relay or one of TIR.
set(tessera_not_united "^src/runtime/archive/zip|\
^src/topi/cpu/contraction/|^src/topi/cpu/nbits/|^src/kernel/|^src/op/nn/conv")

# tessera_unite(out source...): the sources to compile in place of these. Each file is included by its path from a folder
# that the compiler looks in, so that a second clone hits ccache.
function(tessera_unite out)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
    if(NOT path MATCHES "${tessera_not_united}" AND path MATCHES "^(src|tests)/(.+)$")
      cmake_path(GET path PARENT_PATH folder)
      list(APPEND folders ${folder})
      list(APPEND names_of_${folder} ${CMAKE_MATCH_2})
    else()
      list(APPEND units ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH names_of_${folder} count)
    math(EXPR batches "(${count} + ${tessera_unity_batch} - 1) / ${tessera_unity_batch}")
    math(EXPR last "${batches} - 1")
    foreach(batch RANGE ${last})
      math(EXPR begin "${batch} * ${count} / ${batches}")
      math(EXPR length "(${batch} + 1) * ${count} / ${batches} - ${begin}")
      list(SUBLIST names_of_${folder} ${begin} ${length} names)
      list(TRANSFORM names REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN names "" text)
      set(unit ${PROJECT_BINARY_DIR}/unity/${folder}_${batch}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS -Wno-subobject-linkage)  # what it includes is no header
      endif()
      list(APPEND units ${unit})
    endforeach()
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# tessera_objects(target pch source...): an object library. With TESSERA_UNITY a second one, <target>_apart, has each
# source by itself: it is not built, but gives compile_commands.json a command for each file.
function(tessera_objects target pch)
  if(TESSERA_UNITY)
    tessera_unite(units ${ARGN})
    add_library(${target} OBJECT ${units})
    add_library(${target}_apart OBJECT EXCLUDE_FROM_ALL ${ARGN})
    target_link_libraries(${target}_apart PRIVATE fmt::fmt-header-only Threads::Threads)
    target_include_directories(${target}_apart PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${target}_apart PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
    target_compile_options(${target}_apart PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>)
  else()
    add_library(${target} OBJECT ${ARGN})
  endif()
  tessera_compile_as_ours(${target})
  tessera_use_pch(${target} ${pch})
endfunction()

# tessera_room(name PCH header-room)
function(tessera_room name)
  cmake_parse_arguments(arg "" "PCH" "" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/src/codegen/llvm/|/src/runtime/tvm_compat/|/src/runtime/rpc/program/|/src/driver/cli/main.cc")
  if(sources)
    tessera_objects(tessera_room_${name} ${arg_PCH} ${sources})
    if(TESSERA_SMALL AND name IN_LIST rooms_of_graphs)
      target_compile_options(tessera_room_${name} PRIVATE -Os)
    endif()
  endif()
endfunction()

# tessera_library(name ROOMS room...): a shared library of the rooms that exist.
function(tessera_library name)
  cmake_parse_arguments(arg "" "" "ROOMS" ${ARGN})
  foreach(room IN LISTS arg_ROOMS)
    if(TARGET tessera_room_${room})
      list(APPEND objects $<TARGET_OBJECTS:tessera_room_${room}>)
    endif()
  endforeach()
  if(NOT objects)
    return()
  endif()
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC fmt::fmt-header-only Threads::Threads PRIVATE ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE -Wl,--as-needed)
  if(NOT TESSERA_SANITIZE)  # the sanitizer's own symbols come with the program
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  tessera_place(${name})
endfunction()

# Libraries lie together in one folder and find each other there, in the source tree as in the wheel.
function(tessera_place target)
  if(TESSERA_IN_PLACE)
    set(folder ${PROJECT_SOURCE_DIR}/python/tessera/lib)
  else()
    set(folder ${PROJECT_BINARY_DIR}/lib)
  endif()
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder}
                        INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} LIBRARY DESTINATION tessera/lib)
endfunction()

# zlib, static and hidden like LLVM, for the compressed members of .npz files; builds for other machines do without.
function(tessera_link_zlib)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_library(TESSERA_ZLIB_LIBRARY libz.a REQUIRED)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/runtime/archive/zip.cc PROPERTIES COMPILE_DEFINITIONS TESSERA_ZLIB=1)
  target_link_libraries(tessera_runtime PRIVATE ${TESSERA_ZLIB_LIBRARY})
  target_link_options(tessera_runtime PRIVATE -Wl,--exclude-libs,libz.a)
endfunction()
