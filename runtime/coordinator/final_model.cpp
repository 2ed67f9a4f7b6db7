#include "runtime/coordinator/final_model.hpp"

namespace ballast::coordinator {

void final_model::in_vain(std::string why) {
  if (!search_)
    search_.emplace();
  search_->why = std::move(why);
}

void final_model::wait(instant again, instant until) {
  search_->again = again;
  search_->until = until;
}

std::string final_model::next_round(instant again) {
  search_->again = again;
  asked_.clear();
  return std::exchange(search_->why, {});
}

void final_model::saved(const std::string& weights_sha256, step_number step) {
  if (!weights_sha256.empty())
    sha256_ = weights_sha256;
  step_ = step;
}

} // namespace ballast::coordinator
