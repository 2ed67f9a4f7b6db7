#include "actors/preparation_view.hpp"

#include <chrono>

namespace ballast::actors {

std::shared_ptr<store::work_seen> preparation_view::begin() {
  first_.reset();
  return seen_ = std::make_shared<store::work_seen>();
}

std::optional<coordinator::run_status::preparation>
preparation_view::at(instant now) {
  const uint64_t total = seen_ ? seen_->total.load() : 0;
  if (total == 0)
    return std::nullopt;
  const uint64_t done = seen_->done;
  if (!first_ || first_->total != total || done < first_->done)
    first_ = mark{now, done, total};
  coordinator::run_status::preparation out{double(done) / double(total)};
  if (const uint64_t since = done - first_->done; since > 0)
    out.left_s = std::chrono::duration<double>(now - first_->when).count() /
                 double(since) * double(total - done);
  return out;
}

} // namespace ballast::actors
