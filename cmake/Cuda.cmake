# The CUDA part: BALLAST_CUDA = auto (where nvcc and NCCL are found; quietly
# without them otherwise), on (required), off. Defines BALLAST_HAS_CUDA,
# Cuda::runtime (linked statically, so that only the driver is needed at run
# time), Cuda::nccl (the header alone: the library is opened at run time), and
# ballast_cuda_objects().
#
# nvcc is called by rules of our own: CMake's CUDA language tries the compiler
# for ten seconds at every fresh configure, which most builds would never use.
set(BALLAST_CUDA auto CACHE STRING "Build the CUDA part: auto, on or off")
set_property(CACHE BALLAST_CUDA PROPERTY STRINGS auto on off)
string(TOLOWER "${BALLAST_CUDA}" cuda_wanted)
if(NOT cuda_wanted MATCHES "^(auto|on|off)$")
  message(FATAL_ERROR "BALLAST_CUDA is '${BALLAST_CUDA}'; it takes auto, on or off")
endif()
set(BALLAST_HAS_CUDA OFF)
set(cuda_missing "")

# Where `BALLAST_CUDA=on ./dev setup` unpacks the wheels.
set(cuda_wheels "${BALLAST_DEPS}/cuda-${BALLAST_CUDA_NVCC_VERSION}/nvidia")
set(cuda_version_min 13.0)
# 8.0, 9.0 and 10.0 as machine code, and code that newer devices translate.
set(cuda_targets
    --generate-code=arch=compute_80,code=sm_80
    --generate-code=arch=compute_90,code=sm_90
    "--generate-code=arch=compute_100,code=[sm_100,compute_100]")

if(NOT cuda_wanted STREQUAL "off" AND BALLAST_SANITIZE)
  # The driver reserves addresses that the sanitizers want for themselves.
  set(cuda_missing "with sanitizers there is no CUDA part")
elseif(NOT cuda_wanted STREQUAL "off")
  find_program(BALLAST_NVCC nvcc
               HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin"
                     "${cuda_wheels}/cu13/bin")
  if(NOT BALLAST_NVCC)
    set(cuda_missing "nvcc is neither in PATH nor in $CUDA_HOME/bin")
  else()
    execute_process(COMMAND "${BALLAST_NVCC}" --version OUTPUT_VARIABLE out
                    ERROR_VARIABLE out RESULT_VARIABLE code)
    string(REGEX MATCH "release ([0-9.]+)" _ "${out}")
    set(cuda_version "${CMAKE_MATCH_1}")
    if(NOT code EQUAL 0 OR cuda_version VERSION_LESS cuda_version_min)
      set(cuda_missing "${BALLAST_NVCC} is CUDA '${cuda_version}', needed is ${cuda_version_min} or later")
    endif()
  endif()
endif()

if(NOT cuda_wanted STREQUAL "off" AND NOT cuda_missing)
  get_filename_component(cuda_root "${BALLAST_NVCC}" REALPATH)
  get_filename_component(cuda_root "${cuda_root}" DIRECTORY)
  get_filename_component(cuda_root "${cuda_root}" DIRECTORY)
  find_path(BALLAST_CUDA_INCLUDE cuda_runtime.h
            HINTS "${cuda_root}/include"
                  "${cuda_root}/targets/x86_64-linux/include")
  find_library(BALLAST_CUDART_STATIC cudart_static
               HINTS "${cuda_root}/lib64" "${cuda_root}/lib"
                     "${cuda_root}/targets/x86_64-linux/lib")
  find_path(BALLAST_NCCL_INCLUDE nccl.h
            HINTS "$ENV{NCCL_HOME}/include" "${cuda_wheels}/nccl/include"
                  "${cuda_root}/include")
  # Only to remember where it lies: it is opened at run time.
  find_file(BALLAST_NCCL_LIBRARY libnccl.so.2
            HINTS "$ENV{NCCL_HOME}/lib" "${cuda_wheels}/nccl/lib"
                  "${cuda_root}/lib64" "${cuda_root}/lib"
            PATHS /usr/lib/x86_64-linux-gnu)
  if(NOT BALLAST_CUDA_INCLUDE OR NOT BALLAST_CUDART_STATIC)
    set(cuda_missing "cuda_runtime.h or libcudart_static.a is not in ${cuda_root}")
  elseif(NOT BALLAST_NCCL_INCLUDE)
    set(cuda_missing "nccl.h is neither in ${cuda_root}/include nor in $NCCL_HOME/include")
  elseif(NOT BALLAST_NVCC_TRIED STREQUAL BALLAST_NVCC)
    # Half a toolkit, or one that refuses this C++ compiler: once, 2 seconds.
    file(WRITE "${PROJECT_BINARY_DIR}/try_nvcc.cu"
         "#include <cuda_runtime.h>\n__global__ void nothing() {}\n")
    execute_process(COMMAND "${BALLAST_NVCC}" "-ccbin=${CMAKE_CXX_COMPILER}"
                            -std=c++20 -arch=sm_90 -cubin
                            -o "${PROJECT_BINARY_DIR}/try_nvcc.cubin"
                            "${PROJECT_BINARY_DIR}/try_nvcc.cu"
                    OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE code)
    if(code EQUAL 0)
      set(BALLAST_NVCC_TRIED "${BALLAST_NVCC}" CACHE INTERNAL "It compiles")
    else()
      string(STRIP "${out}" out)
      set(cuda_missing "${BALLAST_NVCC} compiles nothing: ${out}")
    endif()
  endif()
endif()

if(cuda_wanted STREQUAL "off")
  message(STATUS "CUDA part: off")
elseif(NOT cuda_missing)
  set(BALLAST_HAS_CUDA ON)
  message(STATUS "CUDA part: CUDA ${cuda_version} of ${cuda_root}")
elseif(cuda_wanted STREQUAL "on" AND NOT BALLAST_SANITIZE)
  message(FATAL_ERROR
    "BALLAST_CUDA=on, but ${cuda_missing}.\n"
    "Either install the CUDA 13 toolkit and NCCL 2.28 and put nvcc into PATH, or "
    "let setup fetch the compiler and NCCL (300 MB, no root needed):\n"
    "  BALLAST_CUDA=on ./dev build")
else()
  message(STATUS "CUDA part: not built, ${cuda_missing}")
endif()

if(BALLAST_HAS_CUDA)
  add_library(Cuda::runtime INTERFACE IMPORTED)
  target_include_directories(Cuda::runtime SYSTEM INTERFACE "${BALLAST_CUDA_INCLUDE}")
  target_link_libraries(Cuda::runtime INTERFACE "${BALLAST_CUDART_STATIC}" rt
                                                Threads::Threads ${CMAKE_DL_LIBS})
  add_library(Cuda::nccl INTERFACE IMPORTED)
  target_include_directories(Cuda::nccl SYSTEM INTERFACE "${BALLAST_NCCL_INCLUDE}")
endif()

# ballast_cuda_objects(OUT SOURCES...): one object file for each .cu file.
# Without contraction to fused multiply-add: kernels and their references on the
# CPU give the same bits. They are bound by memory, so it costs nothing.
function(ballast_cuda_objects out)
  set(objects)
  foreach(source ${ARGN})
    get_filename_component(name "${source}" NAME)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${BALLAST_NVCC}"
              "-ccbin=${CMAKE_CXX_COMPILER}" -std=c++20 -O3 --fmad=false -lineinfo
              ${cuda_targets} "-I${PROJECT_SOURCE_DIR}"
              -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra
              -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}"
      DEPENDS "${source}"
      DEPFILE "${object}.d"
      COMMENT "Building CUDA object ${name}.o"
      VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
