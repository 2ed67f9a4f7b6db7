/// NCCL, opened at run time, because the object with the kernels must load on
/// machines without it. Its functions by name, with the types of nccl.h.
///
/// One library for each process: LibTorch's CUDA part links to libnccl.so.2,
/// too, and whichever is loaded second shares the first.
#pragma once

#include <nccl.h>

#include <string>

namespace ballast::gpu {

struct nccl_library {
  int compiled_version = NCCL_VERSION_CODE;
  int running_version = 0; // 0: unusable, see why_not
  std::string file;
  std::string why_not;

  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclCommFinalize) comm_finalize = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;
  decltype(&ncclMemAlloc) mem_alloc = nullptr;
  decltype(&ncclMemFree) mem_free = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
};

/// Loaded once and kept. Sets the variables that shorten a broken init
/// (NCCL_SOCKET_RETRY_CNT and others) unless the user has set them.
const nccl_library& loaded_nccl();

} // namespace ballast::gpu
