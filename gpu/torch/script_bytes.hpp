/// The entry point of libballast_torch.so that writes modules
/// (gpu/script_writer.hpp).
#pragma once

#include "gpu/script_writer.hpp"
#include "runtime/base/errors.hpp"

#include <string>

namespace ballast::gpu {

using script_bytes_maker = void(const script_module* what, std::string* out,
                                failure* why);
constexpr const char* script_bytes_maker_name = "ballast_torch_script_bytes";

} // namespace ballast::gpu
