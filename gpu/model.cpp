#include "gpu/model.hpp"

#include "gpu/emulated_model.hpp"
#include "gpu/torch/factory.hpp"
#include "runtime/errors.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <mutex>

namespace ballast {
namespace {

namespace fs = std::filesystem;

/// Where a library that belongs to this program may lie: beside the file that
/// holds this code, beside the program, and in an installed tree's lib folder.
std::vector<fs::path> library_folders() {
  std::vector<fs::path> out;
  std::error_code error;
  static const int anchor = 0;
  Dl_info info{};
  if (dladdr(&anchor, &info) != 0 && info.dli_fname &&
      std::string(info.dli_fname).find('/') != std::string::npos) {
    const fs::path file = fs::canonical(info.dli_fname, error);
    if (!error)
      out.push_back(file.parent_path());
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    out.push_back(program.parent_path());
    out.push_back(program.parent_path().parent_path() / "lib" / "ballast");
  }
  return out;
}

/// The functions of libballast_torch.so, loaded once and kept: unloading
/// LibTorch is not safe.
struct torch_library {
  torch_factory* make = nullptr;
  std::string why_not; // if there is no `make`
};

torch_library load_torch() {
  std::string looked_in;
  for (const fs::path& folder : library_folders()) {
    std::error_code error;
    const fs::path path = folder / torch_library_name;
    looked_in += (looked_in.empty() ? "" : ", ") + folder.string();
    if (!fs::exists(path, error))
      continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return {nullptr, path.string() + " cannot be loaded: " + dlerror()};
    auto* make =
        reinterpret_cast<torch_factory*>(dlsym(handle, torch_factory_name));
    if (!make)
      return {nullptr, path.string() + " is of another version: " + dlerror()};
    return {make, {}};
  }
  return {nullptr,
          std::string(torch_library_name) + " is in none of: " + looked_in};
}

const torch_library& loaded_torch() {
  static const torch_library library = load_torch();
  return library;
}

std::unique_ptr<model> make_torch_model(const model_request& request) {
  const torch_library& library = loaded_torch();
  if (!library.make)
    throw ballast_error(
        errc::not_in_build,
        "model '" + request.what->model.kind +
            "' needs LibTorch: " + library.why_not +
            "; run ./dev setup, then build with BALLAST_TORCH=ON",
        "/model/kind");
  failure why;
  std::unique_ptr<model> made(library.make(&request, &why));
  if (!made)
    throw ballast_error(why);
  return made;
}

} // namespace

std::unique_ptr<model> make_model(const model_request& request) {
  const model_spec& spec = request.what->model;
  const bool convex = spec.kind == "linear" || spec.kind == "logistic";
  if (spec.init == "zeros" && !convex && spec.kind != "emulated")
    throw ballast_error(errc::invalid_job,
                        "init \"zeros\" leaves a '" + spec.kind +
                            "' without gradients; linear, logistic and "
                            "emulated take it",
                        "/model/init");
  if (spec.kind == "emulated")
    return std::make_unique<emulated_model>(spec);
  if (convex || spec.kind == "mlp" || spec.kind == "cnn" ||
      spec.kind == "resnet18" || spec.kind == "transformer" ||
      spec.kind == "torchscript")
    return make_torch_model(request);
  throw ballast_error(errc::invalid_job,
                      "unknown model '" + spec.kind +
                          "'; allowed are linear, logistic, mlp, cnn, "
                          "resnet18, transformer, torchscript, emulated",
                      "/model/kind");
}

void preload_torch() {
  (void)loaded_torch();
}

} // namespace ballast
