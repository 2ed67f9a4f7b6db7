#include "gpu/torch/image_size.hpp"

#include "gpu/initial_parameters.hpp"
#include "runtime/base/errors.hpp"

namespace ballast::gpu {

image_size image_of(const ledger::row_shape& row,
                    const std::string& model_kind) {
  const std::vector<uint32_t>& s = row.shape;
  if (s.size() == 2)
    return {1, s[0], s[1]};
  if (s.size() == 3)
    return {s[0], s[1], s[2]};
  throw ballast_error(
      errc::invalid_job,
      "model '" + model_kind +
          "' needs images (height x width or channels x height x width); a row "
          "of this data set has shape " +
          to_string(std::vector<int64_t>(s.begin(), s.end())) +
          "; the pipeline step \"reshape\" gives it another",
      "/model/kind");
}

} // namespace ballast::gpu
