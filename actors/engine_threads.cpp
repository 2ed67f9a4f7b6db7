#include "actors/engine_threads.hpp"

#include "runtime/base/thread_name.hpp"

#include <utility>

namespace ballast::actors {

namespace {

std::thread start_after(std::vector<std::thread> before, const char* name,
                        engine_threads::work what) {
  return std::thread(
      [name, what = std::move(what), before = std::move(before)]() mutable {
        set_thread_name(name);
        engine_threads::join(before);
        what();
      });
}

/// Moves these out.
template <class... Thread>
std::vector<std::thread> taken(Thread&... some) {
  std::vector<std::thread> out;
  (out.push_back(std::move(some)), ...);
  return out;
}

} // namespace

void engine_threads::compute(work what) {
  compute_ =
      start_after(taken(compute_, beside_), "bl-compute", std::move(what));
}

void engine_threads::beside(work what) {
  beside_ = start_after(taken(beside_), "bl-next-gen", std::move(what));
}

void engine_threads::copy(work what) {
  copier_ = start_after(taken(copier_), "bl-copy", std::move(what));
}

void engine_threads::last(work what) {
  compute_ = start_after(take(), "bl-compute", std::move(what));
}

std::vector<std::thread> engine_threads::take() {
  return taken(compute_, beside_, copier_);
}

void engine_threads::join(std::vector<std::thread>& all) {
  for (std::thread& one : all)
    if (one.joinable())
      one.join();
}

} // namespace ballast::actors
