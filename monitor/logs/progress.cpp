#include "monitor/logs/progress.hpp"

#include <cmath>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ballast::monitor {

namespace {

constexpr int64_t terminal_interval_ns = 100'000'000;
constexpr int64_t piped_interval_ns = 5'000'000'000;

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

/// 1234567 -> "1,234,567".
std::string thousands(double number) {
  std::string digits = format("%.0f", number);
  for (ptrdiff_t at = ptrdiff_t(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(size_t(at), ",");
  return digits;
}

/// "0:05", "12:34", "3:25:45".
std::string duration(double seconds) {
  auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 3600)
    return format("%lld:%02lld", whole / 60, whole % 60);
  return format("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                whole % 60);
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
  if (run.best_test)
    out.best = run.best_test->metric +
               format(" %.4g", run.best_test->what.value) + " of epoch " +
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

std::string render_progress(const progress_state& state) {
  std::string out;
  auto part = [&](const std::string& text) {
    if (!out.empty())
      out += "  ";
    out += text;
  };
  if (state.step == 0 && state.epoch == 0) {
    part(state.state);
    if (state.prepared)
      part(format("%.0f %%", 100 * *state.prepared));
    if (state.trains_in_s && std::isfinite(*state.trains_in_s))
      part("trains in " + duration(*state.trains_in_s));
    return out;
  }
  const bool training =
      state.state == ballast::to_string(coordinator::run_phase::training);
  if (!training)
    part(state.state);
  part("epoch " + std::to_string(state.epoch) + "/" +
       std::to_string(state.epochs));
  part("step " + std::to_string(state.step) +
       (state.steps_total ? "/" + std::to_string(state.steps_total) : ""));
  if (state.samples_per_s && std::isfinite(*state.samples_per_s))
    part(thousands(*state.samples_per_s) + " samples/s");
  if (state.loss)
    part("loss " + format("%.4g", *state.loss));
  if (!state.best.empty())
    part("best " + state.best);
  part("world " + std::to_string(state.world));
  part("generation " + std::to_string(state.generation));
  if (state.skew)
    part("skew " + format("%.2f", *state.skew));
  if (training && state.eta_s && std::isfinite(*state.eta_s) &&
      *state.eta_s >= 0)
    part("ETA " + duration(*state.eta_s));
  return out;
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
  int64_t interval = terminal_ ? terminal_interval_ns : piped_interval_ns;
  if (!enabled_ || (printed_ns_ && now_ns - *printed_ns_ < interval))
    return;
  printed_ns_ = now_ns;
  print(state);
}

void progress_printer::finish(const progress_state& state) {
  if (!enabled_)
    return;
  print(state);
  if (line_open_)
    write_all(descriptor_, "\n");
  line_open_ = false;
}

void progress_printer::clear() {
  if (line_open_)
    write_all(descriptor_, "\r\033[K");
  line_open_ = false;
}

void progress_printer::print(const progress_state& state) {
  std::string line = render_progress(state);
  if (!terminal_) {
    write_all(descriptor_, line + "\n");
    return;
  }
  // A line that wraps could not be rewritten.
  winsize size{};
  if (ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
      line.size() >= size.ws_col)
    line.resize(size.ws_col - 1u);
  write_all(descriptor_, "\r\033[K" + line);
  line_open_ = true;
}

} // namespace ballast::monitor
