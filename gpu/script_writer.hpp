/// A module of TorchScript as a file, made of the source of its forward() and
/// its tensors: for torch.jit.load in Python and C++, and for jobs of the model
/// kind torchscript. Written by LibTorch, which is opened for that. Any thread.
///
/// Errors: ballast_error{not_in_build} without LibTorch, {internal} where that
/// refuses the source.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ballast::gpu {

struct module_tensor {
  std::string name; // "layer1.0.conv1.weight": of nested modules
  std::vector<int64_t> shape;
  std::span<const float> values;
  bool buffer = false; // else a parameter
};

struct script_module {
  std::string name;   // of its class
  std::string source; // "def forward(self, x):..."
  std::vector<module_tensor> tensors;
};

/// The bytes of the file.
std::string script_bytes(const script_module& what);

} // namespace ballast::gpu
