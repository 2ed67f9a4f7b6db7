#include "runtime/coordinator/equal_bits.hpp"

#include <algorithm>

namespace ballast::coordinator {

namespace {

/// Workers are at most a step apart; a late report is of one before.
constexpr size_t steps_kept = 8;

} // namespace

std::string equal_bits::other_probe(const std::string& name,
                                    const std::string& probe) {
  if (probe.empty())
    return {};
  if (probe_.empty()) {
    probe_ = probe;
    probed_first_ = name;
  }
  if (probe == probe_)
    return {};
  return "computes other bits than " + probed_first_ +
         " of the same rows and parameters (" + probe + ", not " + probe_ +
         "), so the run could not end with the same weights: another kind of "
         "CPU, another build or library, or an environment variable of a "
         "library (MKL_*, OMP_*, DNNL_*, ATEN_*) on one of the two; compare "
         "what `ballast doctor` prints on both";
}

equal_bits::finding equal_bits::take(const parameters_digested& what,
                                     const std::string& name, size_t world) {
  finding out;
  std::vector<told>& all = steps_[what.step];
  out.first = all.empty();
  if (std::any_of(all.begin(), all.end(),
                  [&](const told& one) { return one.who == what.worker; }))
    return {};
  all.push_back({what.worker, name, what.digests});
  // The largest group of those that agree.
  const told* most = nullptr;
  std::ptrdiff_t votes = 0;
  for (const told& one : all) {
    const auto alike =
        std::count_if(all.begin(), all.end(), [&](const told& other) {
          return other.digests == one.digests;
        });
    if (alike > votes) {
      votes = alike;
      most = &one;
    }
  }
  const auto other = std::find_if(all.begin(), all.end(), [&](const told& one) {
    return one.digests != most->digests;
  });
  if (other != all.end() && (votes >= 2 || all.size() >= world)) {
    size_t tensor = 0;
    while (tensor + 1 < most->digests.size() &&
           tensor + 1 < other->digests.size() &&
           most->digests[tensor] == other->digests[tensor])
      ++tensor;
    out.why = "after step " + to_string(what.step) + " " + other->name +
              " has other parameters than " + most->name + ", first in '" +
              (tensor < what.tensors.size() ? what.tensors[tensor] : "") + "'";
    out.undecided = votes < 2;
    if (!out.undecided)
      for (const told& one : all)
        if (one.digests != most->digests)
          out.odd.push_back(one.who);
  }
  while (steps_.size() > steps_kept)
    steps_.erase(steps_.begin());
  return out;
}

} // namespace ballast::coordinator
