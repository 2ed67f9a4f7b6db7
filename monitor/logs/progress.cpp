#include "monitor/logs/progress.hpp"

#include "runtime/base/number_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

namespace ballast::monitor {

namespace {

constexpr int64_t terminal_interval_ns = 100'000'000;

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

void write_all(int descriptor, const std::string& text) {
  // A closed terminal must not end a run.
  for (size_t written = 0; written < text.size();) {
    ssize_t count =
        ::write(descriptor, text.data() + written, text.size() - written);
    if (count <= 0)
      return;
    written += size_t(count);
  }
}

const std::string gap = "  ";

/// Something that the line shows, and when it goes.
struct line_part {
  int importance; // of one part each; the greatest goes first, 0 stays
  std::string text;
};

size_t width_of(const std::vector<line_part>& parts) {
  size_t out = 0;
  for (const line_part& one : parts)
    out += one.text.size() + (out > 0 ? gap.size() : 0);
  return out;
}

/// Leaves out what does not fit; what is less important and fits stays.
std::string fitted(const std::vector<line_part>& parts, size_t columns) {
  int last = 0;
  for (const line_part& one : parts)
    last = std::max(last, one.importance);
  std::set<int> kept;
  size_t width = 0;
  for (int at = 0; at <= last; ++at)
    for (const line_part& one : parts) {
      const size_t needed = one.text.size() + (width > 0 ? gap.size() : 0);
      if (one.importance != at || (at > 0 && width + needed > columns))
        continue;
      kept.insert(at);
      width += needed;
    }
  std::string out;
  for (const line_part& one : parts)
    if (kept.contains(one.importance))
      out += (out.empty() ? "" : gap) + one.text;
  if (out.size() > columns)
    out.resize(columns);
  return out;
}

} // namespace

progress_state progress_of(const coordinator::run_status& of) {
  progress_state out;
  out.state = ballast::to_string(of.state);
  if (of.preparing) {
    out.prepared = of.preparing->done;
    out.trains_in_s = of.preparing->left_s;
  }
  if (!of.run)
    return out;
  const coordinator::run_status::numbers& run = *of.run;
  out.epoch = value(run.epoch);
  out.epochs = run.epochs;
  out.step = value(run.step);
  out.steps_total = run.steps_total;
  if (run.members) {
    out.world = uint32_t(run.members->world);
    out.generation = value(run.members->generation);
  }
  if (out.step == 0)
    return out;
  out.loss = run.loss;
  if (run.test)
    out.test_loss = run.test->loss;
  if (run.best_test)
    out.best = run.best_test->metric + " " +
               four_digits(run.best_test->what.value) + " of epoch " +
               to_string(run.best_test->what.epoch);
  out.skew = run.skew_tv_max;
  if (run.samples_per_s > 0) {
    const auto rate = double(run.samples_per_s);
    out.samples_per_s = rate;
    const double per_step = double(run.samples) / double(run.step);
    out.eta_s = double(out.steps_total - out.step) * per_step / rate;
  }
  return out;
}

namespace {

std::string waiting_line(const progress_state& state, size_t columns) {
  std::vector<line_part> parts{{0, state.state}};
  if (state.prepared)
    parts.push_back({1, format("%.0f %%", 100 * *state.prepared)});
  if (state.trains_in_s && std::isfinite(*state.trains_in_s))
    parts.push_back({2, "trains in " + clock_text(*state.trains_in_s)});
  return fitted(parts, columns);
}

/// In the order in which they are shown. `epoch`: what stands before its
/// number.
std::vector<line_part> parts_of(const progress_state& state,
                                const std::string& epoch) {
  std::vector<line_part> out;
  const bool training =
      state.state == ballast::to_string(coordinator::run_phase::training);
  if (!training)
    out.push_back({2, state.state});
  out.push_back({0, epoch + std::to_string(state.epoch) + "/" +
                        std::to_string(state.epochs)});
  out.push_back(
      {3,
       "step " + std::to_string(state.step) +
           (state.steps_total ? "/" + std::to_string(state.steps_total) : "")});
  if (state.loss)
    out.push_back({1, "loss " + four_digits(*state.loss)});
  if (state.test_loss)
    out.push_back({4, "test " + four_digits(*state.test_loss)});
  if (state.samples_per_s && std::isfinite(*state.samples_per_s))
    out.push_back({5, short_number(*state.samples_per_s) + " samples/s"});
  if (training && state.eta_s && std::isfinite(*state.eta_s) &&
      *state.eta_s >= 0)
    out.push_back({6, "ETA " + clock_text(*state.eta_s)});
  if (!state.best.empty())
    out.push_back({7, "best " + state.best});
  out.push_back({8, "world " + std::to_string(state.world)});
  out.push_back({9, "generation " + std::to_string(state.generation)});
  if (state.skew)
    out.push_back({10, "skew " + format("%.2f", *state.skew)});
  return out;
}

} // namespace

std::string render_progress(const progress_state& state, size_t columns) {
  if (state.step == 0 && state.epoch == 0)
    return waiting_line(state, columns);
  std::vector<line_part> parts = parts_of(state, "epoch ");
  std::vector<line_part> least;
  for (const line_part& one : parts)
    if (one.importance <= 1)
      least.push_back(one);
  if (width_of(least) > columns)
    parts = parts_of(state, "");
  return fitted(parts, columns);
}

std::string first_line(const std::string& run, const job& what) {
  const uint32_t workers = what.elastic.workers;
  std::string out = run + ": " + std::to_string(workers) +
                    (workers == 1 ? " worker" : " workers") + ", seed " +
                    std::to_string(what.seed);
  if (what.train.reduction == reduction_kind::canonical)
    out += "; the same weights for any number of workers";
  else if (what.balance.enabled && what.elastic.max_workers > 1)
    out += "; balance follows the measured speed, so the same seed may give "
           "other weights";
  return out;
}

progress_printer::progress_printer(int descriptor, bool enabled)
    : descriptor_(descriptor), enabled_(enabled),
      terminal_(isatty(descriptor) == 1) {}

void progress_printer::update(const progress_state& state, int64_t now_ns) {
  if (!enabled_ || !terminal_ ||
      (printed_ns_ && now_ns - *printed_ns_ < terminal_interval_ns))
    return;
  printed_ns_ = now_ns;
  // A line that wraps could not be rewritten.
  winsize size{};
  const bool known =
      ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  write_all(descriptor_,
            "\r\033[K" +
                render_progress(state, known ? size.ws_col - 1u : SIZE_MAX));
  line_open_ = true;
}

void progress_printer::keep(const std::string& line) {
  if (!enabled_)
    return;
  clear();
  write_all(descriptor_, line + "\n");
}

void progress_printer::clear() {
  if (line_open_)
    write_all(descriptor_, "\r\033[K");
  line_open_ = false;
}

} // namespace ballast::monitor
