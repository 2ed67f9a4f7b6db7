#include "gpu/torch/portable_kernels.hpp"

#include "runtime/base/errors.hpp"

#include <ATen/Version.h>
#include <cstdlib>
#include <string>

namespace ballast::gpu {

void compute_portably() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    throw ballast_error(errc::device_failed,
                        "this CPU has no AVX2 or no FMA, which train.kernels "
                        "\"portable\" computes with");
#endif
  // Whatever the user has set: workers must agree.
  setenv("ATEN_CPU_CAPABILITY", "avx2", 1);
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
  setenv("MKL_CBWR", "AVX2,STRICT", 1);
  setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
  // Read once; the others are used behind it.
  if (const std::string used = at::get_cpu_capability(); used != "AVX2")
    throw ballast_error(errc::device_failed,
                        "this process has computed with " + used +
                            " before, which train.kernels \"portable\" does "
                            "not; start the node again");
}

} // namespace ballast::gpu
