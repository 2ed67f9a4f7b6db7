/// BALLAST_HOST_DEVICE: a function that the CPU and CUDA kernels compile from
/// the same source, so that both compute the same bits. Both sides compile it
/// without contraction to fused multiply-add (-ffp-contract=off, -fmad=false).
#pragma once

#ifdef __CUDACC__
#define BALLAST_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define BALLAST_HOST_DEVICE inline
#endif
