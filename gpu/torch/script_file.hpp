/// A file of torch.jit.save, and the tensors in it that train. A parameter with
/// requires_grad = False is a constant, like a buffer: it is saved, and never
/// changes. Parameters that share their memory (tied weights) become one, which
/// the module then uses under all of its names.
#pragma once

#include "gpu/model.hpp"

#include <string>
#include <torch/script.h>
#include <vector>

namespace ballast::gpu {

struct script_tensor {
  std::string name;
  at::Tensor value;
};

struct script_file {
  torch::jit::Module module;
  std::vector<script_tensor> trained;
  std::vector<script_tensor> constants; // frozen parameters, then buffers
  std::vector<model::alias> aliases;    // of `trained`
};

/// Throws ballast_error{invalid_job, "/model/path"}.
script_file load_script(const std::string& path, at::Device device);

/// Whether this method may draw random numbers, which LibTorch takes from one
/// generator of the whole process. Says so of what it does not know, too.
bool may_draw(const torch::jit::Module& module,
              const std::string& method = "forward");

/// Throws the same error with this message.
[[noreturn]] void refuse_script(const std::string& path,
                                const std::string& why);

} // namespace ballast::gpu
