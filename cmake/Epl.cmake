# The project's CMake functions. Two worlds: the runtime (exceptions, no LLVM) and the compiler (MLIR's
# flags, EplLlvm). A target belongs to one of them by the function that makes it.

set(EPL_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)
if(EPL_SANITIZE)
  add_compile_options(-fsanitize=${EPL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${EPL_SANITIZE})
  list(APPEND EPL_WARNINGS -Wno-pass-failed) # checks in a loop keep it from being vectorized
endif()
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

# epl_add_runtime_library(<name> SOURCES ... [LINK_LIBS ...]): a library that knows no LLVM.
function(epl_add_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${EPL_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  epl_use_precompiled(${name} EplStdHeaders)
endfunction()

# epl_sanitizer_options(<program>): what a program asks of AddressSanitizer, where it is built with that.
function(epl_sanitizer_options program)
  if(EPL_SANITIZE MATCHES address)
    target_sources(${program} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/AsanOptions.cpp)
  endif()
endfunction()

# epl_add_runtime_tool(<name> SOURCES ... [LINK_LIBS ...] [PRECOMPILED <header>]): a program of the runtime, in bin/.
function(epl_add_runtime_tool name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${EPL_WARNINGS})
  epl_sanitizer_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  if(ARG_PRECOMPILED)
    epl_use_precompiled(${name} ${ARG_PRECOMPILED})
  endif()
endfunction()

# epl_find_mlir(): finds MLIR and the linker lld, sets what the compiler's functions need, and makes EplLlvm.
# Debian's package does not say that it wants the dynamic library, and its lit is not where AddLLVM looks.
macro(epl_find_mlir)
  option(MLIR_LINK_MLIR_DYLIB "Link libMLIR.so" ON)
  find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
  find_path(EPL_LLD_INCLUDE lld/Common/Driver.h HINTS ${LLVM_INCLUDE_DIRS} REQUIRED
            DOC "The folder of lld's headers (Debian: liblld-22-dev)")
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
  set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
  set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
  separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
  epl_make_llvm()
endmacro()

# epl_make_llvm(): the target EplLlvm, all that a program of the compiler links of LLVM: its shared libraries and,
# as Debian has it in no shared one, lld's archives. With EPL_STATIC_LLVM archives only, of which the linker
# takes what is used: such a program needs no LLVM where it runs.
function(epl_make_llvm)
  set(archives ${LLVM_LIBRARY_DIR}/liblldELF.a ${LLVM_LIBRARY_DIR}/liblldCommon.a)
  add_library(EplLlvm INTERFACE)
  if(NOT EPL_STATIC_LLVM)
    target_link_libraries(EplLlvm INTERFACE ${archives} MLIR LLVM -l:libzstd.a -l:libz.a)
    return()
  endif()
  file(GLOB mlir ${LLVM_LIBRARY_DIR}/libMLIR*.a)
  list(FILTER mlir EXCLUDE REGEX "/libMLIR(CAPI|.*Test)[^/]*$")
  execute_process(
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libfiles x86 nvptx passes lto dtlto option
            debuginfodwarf orcjit windowsdriver
    OUTPUT_VARIABLE llvm OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(llvm)
  list(FILTER llvm EXCLUDE REGEX Polly) # OneTarget.cpp stands in for it
  list(APPEND archives ${mlir} ${llvm})
  string(REPLACE ";" "," archives "${archives}")
  target_sources(EplLlvm INTERFACE ${CMAKE_SOURCE_DIR}/cmake/OneTarget.cpp)
  target_link_libraries(EplLlvm INTERFACE "$<LINK_GROUP:RESCAN,${archives}>" -l:libzstd.a -l:libz.a ${CMAKE_DL_LIBS})
  target_link_options(EplLlvm INTERFACE -Wl,--gc-sections)
endfunction()

# epl_compiler_flags(<target> <exceptions>): MLIR's headers as system headers, our warnings, and no exceptions
# but where the compiler meets the runtime.
function(epl_compiler_flags target exceptions)
  target_include_directories(${target} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${target} PUBLIC ${LLVM_DEFINITIONS_LIST})
  target_compile_options(${target} PRIVATE ${EPL_WARNINGS})
  if(NOT exceptions)
    target_compile_options(${target} PRIVATE -fno-exceptions)
  endif()
endfunction()

# epl_make_mlir_headers(): MLIR's precompiled headers, for files with exceptions and for those without.
function(epl_make_mlir_headers)
  epl_make_precompiled(EplMlirHeaders Mlir)
  epl_make_precompiled(EplMlirHeadersExceptions Mlir)
  if(EPL_PRECOMPILE)
    epl_compiler_flags(EplMlirHeadersObject FALSE)
    epl_compiler_flags(EplMlirHeadersExceptionsObject TRUE)
  endif()
endfunction()

# epl_use_mlir_headers(<target> <exceptions>): the one that fits.
function(epl_use_mlir_headers target exceptions)
  if(exceptions)
    epl_use_precompiled(${target} EplMlirHeadersExceptions)
  else()
    epl_use_precompiled(${target} EplMlirHeaders)
  endif()
endfunction()

# epl_tablegen(<target> <file.td> <output> <mlir-tblgen flags> ...): one generated file after another,
# as pairs of output and flag list; <target> is what users of the headers depend on.
function(epl_tablegen target definitions)
  set(LLVM_TARGET_DEFINITIONS ${definitions})
  set(TABLEGEN_OUTPUT)
  list(LENGTH ARGN count)
  math(EXPR last "${count} - 1")
  foreach(i RANGE 0 ${last} 2)
    math(EXPR j "${i} + 1")
    list(GET ARGN ${i} output)
    list(GET ARGN ${j} flags)
    separate_arguments(flags)
    mlir_tablegen(${output} ${flags} -I${CMAKE_SOURCE_DIR} -I${MLIR_INCLUDE_DIRS})
  endforeach()
  add_custom_target(${target} DEPENDS ${TABLEGEN_OUTPUT})
endfunction()

# epl_add_compiler_library(<name> [EXCEPTIONS] SOURCES ... [DEPENDS ...] [LINK_LIBS ...]): dialect or passes.
# Never name a static MLIR library here: libMLIR.so holds it already, twice means two type ids.
function(epl_add_compiler_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "SOURCES;DEPENDS;LINK_LIBS" ${ARGN})
  foreach(lib ${ARG_LINK_LIBS})
    if(lib MATCHES "^MLIR.+")
      message(FATAL_ERROR "${name} links ${lib}: programs link EplLlvm, libraries nothing of LLVM")
    endif()
  endforeach()
  add_library(${name} STATIC ${ARG_SOURCES})
  epl_compiler_flags(${name} ${ARG_EXCEPTIONS})
  epl_use_mlir_headers(${name} ${ARG_EXCEPTIONS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
endfunction()

# epl_add_compiler_tool(<name> [EXCEPTIONS] SOURCES ... [LINK_LIBS ...]): a program of the compiler, in bin/.
function(epl_add_compiler_tool name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  epl_compiler_flags(${name} ${ARG_EXCEPTIONS})
  epl_use_mlir_headers(${name} ${ARG_EXCEPTIONS})
  epl_sanitizer_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} EplLlvm)
endfunction()

# epl_find_in_package(<variable> <package> <pattern>): a file of a Python package that is installed.
function(epl_find_in_package variable package pattern)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c "import importlib.metadata as m
print(next(f.locate() for f in m.files('${package}') if f.match('${pattern}')), end='')"
    OUTPUT_VARIABLE file COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} ${file} PARENT_SCOPE)
endfunction()

# epl_install_licenses(): those of what is inside a wheel's files, as Debian and the Python packages have them.
function(epl_install_licenses)
  set(grpc "")
  if(TARGET EplGrpc)
    set(grpc libabsl-dev libc-ares-dev libgrpc-dev libre2-dev libssl-dev)
  endif()
  foreach(package ${grpc} libboost1.74-dev libcli11-dev libflatbuffers-dev librandom123-dev libxxhash-dev libzstd-dev
          llvm-22-dev nlohmann-json3-dev robin-map-dev zlib1g-dev)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION epl/licenses RENAME ${package}.txt)
  endforeach()
  foreach(package nanobind scipy-openblas32)
    epl_find_in_package(license ${package} LICENSE*)
    install(FILES ${license} DESTINATION epl/licenses RENAME ${package}.txt)
  endforeach()
endfunction()
