/// Makes LibTorch and the libraries inside it compute with the same
/// instructions on every CPU that has AVX2 and FMA, so that they give the same
/// bits there (job: /train/kernels).
///
/// They choose their instructions at the first use, for the whole process; so
/// this comes before it, on the thread that makes the first model.
#pragma once

namespace ballast::gpu {

/// Throws ballast_error{device_failed} where the CPU lacks AVX2 or FMA, or this
/// process has computed with other instructions before. Harmless when repeated.
void compute_portably();

} // namespace ballast::gpu
