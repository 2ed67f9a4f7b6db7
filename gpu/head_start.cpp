#include "gpu/head_start.hpp"

#include "runtime/base/thread_name.hpp"

#include <utility>

namespace ballast::gpu {

void head_start::give_up() noexcept {
  if (thread_.joinable())
    rows_.abort();
  end();
}

void head_start::begin(uint64_t seed, uint32_t rank) {
  took_ = true;
  thread_ = std::thread([this, seed, rank] {
    name_this_thread("bl-ahead");
    try {
      first_ = rows_.take();
      if (!first_)
        return;
      const worker::step_order& order = first_->order;
      step_work of;
      of.at = order.at;
      of.samples = order.samples;
      of.rows = first_->view;
      of.seed = seed;
      of.rank = rank;
      of.leaves = order.leaves;
      method_.compute_ahead(of);
    } catch (...) {
      error_ = std::current_exception();
    }
  });
}

void head_start::end() noexcept {
  if (!thread_.joinable())
    return;
  method_.stop_ahead();
  thread_.join();
}

std::optional<prefetcher::ready> head_start::take() {
  end();
  if (!std::exchange(took_, false))
    return rows_.take();
  if (error_)
    std::rethrow_exception(error_);
  return std::exchange(first_, std::nullopt);
}

} // namespace ballast::gpu
