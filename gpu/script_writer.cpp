#include "gpu/script_writer.hpp"

#include "gpu/own_library.hpp"
#include "gpu/torch/factory.hpp"
#include "gpu/torch/script_bytes.hpp"
#include "runtime/base/errors.hpp"

namespace ballast::gpu {

std::string script_bytes(const script_module& what) {
  own_library torch = open_own_library(torch_library_name);
  auto* write = reinterpret_cast<script_bytes_maker*>(
      function_of(torch, script_bytes_maker_name));
  if (write == nullptr)
    throw ballast_error(errc::not_in_build,
                        "TorchScript needs LibTorch: " + torch.why_not +
                            "; run ./dev setup, then build with "
                            "BALLAST_TORCH=ON");
  std::string out;
  failure why;
  write(&what, &out, &why);
  if (why)
    throw ballast_error(why);
  return out;
}

} // namespace ballast::gpu
