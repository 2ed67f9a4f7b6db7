/// Shared objects of this program that are opened on demand:
/// libballast_torch.so, libballast_cuda.so.
#pragma once

#include <string>

namespace ballast::gpu {

struct own_library {
  void* handle = nullptr;
  bool missing = false; // not found, rather than not loadable
  std::string why_not;  // set if there is no handle
};

/// Searches beside the file that contains this code, beside the program, and in
/// an installed tree's lib folder. Its symbols stay invisible to other
/// libraries. It stays open: neither LibTorch nor CUDA can be unloaded safely.
own_library open_own_library(const std::string& name);

/// A function of it; null and `library.why_not` set if it does not exist.
void* function_of(own_library& library, const char* name);

} // namespace ballast::gpu
