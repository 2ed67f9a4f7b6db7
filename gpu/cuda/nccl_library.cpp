#include "gpu/cuda/nccl_library.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace ballast::gpu {
namespace {

constexpr const char* soname = "libnccl.so.2";

/// NCCL reads its variables once, at first use.
void set_defaults() {
  constexpr int keep_what_the_user_set = 0;
  // A connect to a peer that died during the init gives up after about two
  // seconds instead of a minute, and its pauses of at most 0.2 s let it see an
  // abort soon.
  setenv("NCCL_SOCKET_RETRY_CNT", "20", keep_what_the_user_set);
  setenv("NCCL_SOCKET_RETRY_SLEEP_MSEC", "10", keep_what_the_user_set);
  // NCCL's own peer monitor needs a minute to notice what heartbeats show in a
  // second, and costs threads and sockets.
  setenv("NCCL_RAS_ENABLE", "0", keep_what_the_user_set);
}

template <class Function>
void find(void* handle, const char* name, Function& out, nccl_library& nccl) {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  if (!out && nccl.why_not.empty())
    nccl.why_not = std::string(soname) + " has no " + name;
}

std::string file_of(const void* symbol) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

nccl_library load() {
  nccl_library out;
  set_defaults();
  void* handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    out.why_not = dlerror();
    return out;
  }
  find(handle, "ncclGetVersion", out.get_version, out);
  find(handle, "ncclGetUniqueId", out.get_unique_id, out);
  find(handle, "ncclCommInitRankConfig", out.comm_init_rank_config, out);
  find(handle, "ncclCommGetAsyncError", out.comm_get_async_error, out);
  find(handle, "ncclCommFinalize", out.comm_finalize, out);
  find(handle, "ncclCommDestroy", out.comm_destroy, out);
  find(handle, "ncclCommAbort", out.comm_abort, out);
  find(handle, "ncclAllReduce", out.all_reduce, out);
  find(handle, "ncclReduce", out.reduce, out);
  find(handle, "ncclReduceScatter", out.reduce_scatter, out);
  find(handle, "ncclAllGather", out.all_gather, out);
  find(handle, "ncclBroadcast", out.broadcast, out);
  find(handle, "ncclSend", out.send, out);
  find(handle, "ncclRecv", out.recv, out);
  find(handle, "ncclMemAlloc", out.mem_alloc, out);
  find(handle, "ncclMemFree", out.mem_free, out);
  find(handle, "ncclGroupStart", out.group_start, out);
  find(handle, "ncclGroupEnd", out.group_end, out);
  find(handle, "ncclGetErrorString", out.get_error_string, out);
  find(handle, "ncclGetLastError", out.get_last_error, out);
  if (!out.why_not.empty())
    return out;
  out.file = file_of(reinterpret_cast<const void*>(out.get_version));
  if (out.get_version(&out.running_version) != ncclSuccess)
    out.why_not = "ncclGetVersion failed";
  return out;
}

} // namespace

const nccl_library& loaded_nccl() {
  static const nccl_library library = load();
  return library;
}

} // namespace ballast::gpu
