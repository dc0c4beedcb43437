# What of CUDA the build needs: cuda.h for the stand-in of the driver, and libdevice for code for GPUs. Both are in
# Python packages of NVIDIA (requirements.in), or in CUDA's toolkit.

set(python_cuda "")
if(Python3_EXECUTABLE AND EXISTS ${Python3_EXECUTABLE})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c "import nvidia; print(next(iter(nvidia.__path__)), end='/cu13')"
    OUTPUT_VARIABLE python_cuda ERROR_QUIET)
endif()
find_path(EPL_CUDA_INCLUDE cuda.h HINTS ${python_cuda}/include /usr/local/cuda/include DOC "The folder of cuda.h")
find_file(EPL_LIBDEVICE libdevice.10.bc HINTS ${python_cuda}/nvvm/libdevice /usr/local/cuda/nvvm/libdevice
          DOC "CUDA's library of math functions, as bitcode")

# epl_compile_ptx(<source> <ptx> [header ...]): kernels in C++ as PTX, by the compiler of the project. sm_80 has
# conversions of 16-bit floats.
function(epl_compile_ptx source ptx)
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 --target=nvptx64-nvidia-cuda -march=sm_80 -O2 -Wall -Wextra -Werror
            -I${CMAKE_SOURCE_DIR} -S -o ${ptx} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source} ${ARGN}
    COMMENT "${source} as PTX"
    VERBATIM)
endfunction()

# epl_embed(<file> <source> <declaration> <header>): a source with a function, which the header declares, that gives
# the bytes of a file.
function(epl_embed file source declaration header)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DSOURCE=${source} -DDECLARATION=${declaration} -DHEADER=${header}
            -P ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/Embed.cmake
    COMMENT "${file} as a part of the program"
    VERBATIM)
endfunction()
