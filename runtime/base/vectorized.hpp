/// Compiles a loop for several vector widths, selected at load time.
///
/// BALLAST_VECTORIZED: without fused multiply-add, and in files compiled with
/// -ffp-contract=off (see the CMakeLists.txt) if it matters: every width gives
/// the same bits, so that workers on different CPUs agree. For updates that
/// each worker makes to its own copy of shared state (optimizer).
/// BALLAST_VECTORIZED_FMA: the fastest; bits may differ between CPUs. For
/// values that are summed over the workers anyway (gradients).
#pragma once

// Sanitizers cannot run the resolver, which starts before they do.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
    !defined(__SANITIZE_THREAD__)
#define BALLAST_VECTORIZED                                                     \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#define BALLAST_VECTORIZED_FMA                                                 \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define BALLAST_VECTORIZED
#define BALLAST_VECTORIZED_FMA
#endif
