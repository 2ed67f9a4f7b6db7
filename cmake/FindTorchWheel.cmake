# LibTorch out of the torch wheel that `dev setup` unpacked, CPU part only.
# Defines Torch::cpu. At run time libtorch_cpu needs libcudart and libcupti;
# `dev setup` unpacks those beside it.
set(TORCH_ROOT "${BALLAST_DEPS}/torch-${BALLAST_TORCH_VERSION}/torch")
set(CUDA_WHEEL_LIBS
    "${BALLAST_DEPS}/torch-${BALLAST_TORCH_VERSION}/nvidia/cu13/lib")
include(FindPackageHandleStandardArgs)
find_file(TORCH_CPU_LIBRARY libtorch_cpu.so PATHS "${TORCH_ROOT}/lib"
          NO_DEFAULT_PATH)
find_path(TORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h
          PATHS "${TORCH_ROOT}/include" NO_DEFAULT_PATH)
find_package_handle_standard_args(
  TorchWheel
  REASON_FAILURE_MESSAGE "run ./dev setup"
  REQUIRED_VARS TORCH_CPU_LIBRARY TORCH_INCLUDE_DIR)
if(NOT TARGET Torch::cpu)
  add_library(Torch::cpu INTERFACE IMPORTED)
  target_include_directories(
    Torch::cpu SYSTEM
    INTERFACE "${TORCH_INCLUDE_DIR}"
              "${TORCH_INCLUDE_DIR}/torch/csrc/api/include")
  target_link_libraries(Torch::cpu INTERFACE "${TORCH_ROOT}/lib/libtorch_cpu.so"
                                             "${TORCH_ROOT}/lib/libc10.so")
  target_link_options(
    Torch::cpu INTERFACE "-Wl,-rpath,${TORCH_ROOT}/lib"
    "-Wl,-rpath-link,${TORCH_ROOT}/lib:${CUDA_WHEEL_LIBS}"
    -Wl,--allow-shlib-undefined)
endif()
