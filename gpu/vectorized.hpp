/// One macro: compile a loop for several vector widths, picked at load time.
/// Files that use it are compiled with -ffp-contract=off (gpu/CMakeLists.txt),
/// so that every width gives the same bits and workers on unlike CPUs agree.
#pragma once

// Sanitizers cannot run the resolver, which starts before they do.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
    !defined(__SANITIZE_THREAD__)
#define BALLAST_VECTORIZED                                                     \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BALLAST_VECTORIZED
#endif
