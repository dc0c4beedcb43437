# Precompiled headers: what most files of a kind include of other projects (never a header of ours, which changes) is
# read once. MLIR's headers are three quarters of the time that a file of a pass takes to compile.
#
# Not CMake's target_precompile_headers: what that writes names the folder of the build, so ccache would find nothing
# of one clone in another. Here ccache compares the text of the headers, of which a file beside the precompiled one
# has the hash (its option pch_external_checksum).
#
#   cmake/precompiled/NAME.cpp --compiled as a header--> build/precompiled/TARGET.pch    read by the compiler
#                              --preprocessed----------> build/precompiled/TARGET.pch.sum  read by ccache
option(EPL_PRECOMPILE "Precompile headers of other projects; OFF shows where a file lacks an include" ON)

# What one clone has compiled is compiled for all: ccache takes paths below the repository as relative ones.
if(CMAKE_CXX_COMPILER_LAUNCHER STREQUAL ccache)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ccache)
endif()

# Programs are compiled as libraries are, so that both can read one precompiled header.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)

# epl_make_precompiled(<name> <header> [<library> ...]): the precompiled header <name> of
# cmake/precompiled/<header>.cpp, compiled with what the libraries ask of those who link them.
function(epl_make_precompiled name header)
  if(NOT EPL_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_SOURCE_DIR}/cmake/precompiled/${header}.cpp)
  set(output ${CMAKE_BINARY_DIR}/precompiled/${name}.pch)
  add_library(${name}Object OBJECT ${source})
  target_compile_options(${name}Object PRIVATE -xc++-header -fpch-instantiate-templates
                         "SHELL:-Xclang -fno-pch-timestamp")
  target_link_libraries(${name}Object PRIVATE ${ARGN})
  # ccache would give a header that names the files of another clone.
  set_target_properties(${name}Object PROPERTIES CXX_COMPILER_LAUNCHER "")
  set(includes "$<TARGET_PROPERTY:${name}Object,INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${name}Object,COMPILE_DEFINITIONS>")
  add_custom_command(
    OUTPUT ${output} ${output}.sum
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
            "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>" -E -P ${source} -o ${name}.i
    COMMAND ${CMAKE_COMMAND} -E sha256sum ${name}.i > ${output}.sum
    COMMAND ${CMAKE_COMMAND} -E rm ${name}.i
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${name}Object> ${output}
    DEPENDS $<TARGET_OBJECTS:${name}Object>
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/precompiled
    COMMENT "Precompiled ${header}"
    COMMAND_EXPAND_LISTS VERBATIM)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/precompiled)
  add_custom_target(${name} DEPENDS ${output})
endfunction()

# epl_use_precompiled(<target> <name>): the target's files are compiled behind the precompiled header <name>.
function(epl_use_precompiled target name)
  if(EPL_PRECOMPILE)
    target_compile_options(${target} PRIVATE "SHELL:-include-pch ${CMAKE_BINARY_DIR}/precompiled/${name}.pch")
    add_dependencies(${target} ${name})
  endif()
endfunction()
