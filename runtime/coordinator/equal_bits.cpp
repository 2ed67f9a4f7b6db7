#include "runtime/coordinator/equal_bits.hpp"

#include <algorithm>
#include <map>

namespace ballast::coordinator {

namespace {

/// Workers are at most a step apart; a late report is of one before.
constexpr size_t steps_kept = 8;
/// A lone worker that errs more often at one step will not get over it.
constexpr uint32_t retries_max = 3;

} // namespace

std::string equal_bits::unlike(const probed& one) const {
  if (probe_.empty() || one.digest == probe_)
    return {};
  return "computes other bits than " +
         (probed_by_.empty() ? "this run did before" : probed_by_) +
         " of the same rows and parameters (" + one.digest + ", not " + probe_ +
         "), so the run could not end with the same weights: another kind of "
         "CPU, another build or library, or an environment variable of a "
         "library (MKL_*, OMP_*, DNNL_*, ONEDNN_*, ATEN_*); compare what "
         "`ballast doctor` prints on both";
}

equal_bits::finding equal_bits::begin_with(const std::vector<probed>& all) {
  finding out;
  std::map<std::string, size_t> votes;
  for (const probed& one : all)
    if (!one.digest.empty())
      ++votes[one.digest];
  if (votes.empty())
    return out;
  out.first = probe_.empty();
  if (out.first) {
    const auto more = [](const auto& a, const auto& b) {
      return a.second < b.second;
    };
    const auto most = std::max_element(votes.begin(), votes.end(), more);
    out.undecided = std::count_if(votes.begin(), votes.end(), [&](auto& one) {
                      return one.second == most->second;
                    }) > 1;
    probe_ = out.undecided ? all.front().digest : most->first;
  }
  for (const probed& one : all)
    if (one.digest == probe_ && probed_by_.empty())
      probed_by_ = one.name;
  for (const probed& one : all)
    if (one.digest != probe_) {
      out.odd.push_back(one.who);
      if (out.why.empty())
        out.why = one.name + " " + unlike(one);
    }
  out.undecided = out.undecided || out.odd.size() == all.size();
  return out;
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

std::vector<uint32_t> who_erred(const contradicted_leaf& what) {
  if (what.owner == what.checker)
    return {};
  const bool owner_steady = what.of_owner == what.owner_again;
  const bool checker_steady = what.of_checker == what.checker_again;
  const bool asked = what.third >= 0;
  const bool with_owner =
      asked && owner_steady && what.of_owner == what.of_third;
  const bool with_checker =
      asked && checker_steady && what.of_checker == what.of_third;
  // Two that agree are right, and the one left erred; without such two, who
  // contradicts itself.
  if (with_owner)
    return {what.checker};
  if (with_checker)
    return {what.owner};
  if (owner_steady == checker_steady)
    return {};
  return {owner_steady ? what.checker : what.owner};
}

equal_bits::finding
equal_bits::take(const leaves_contradicted& what,
                 const std::vector<worker_id>& ranks,
                 const std::function<std::string(worker_id)>& describe) const {
  finding out;
  // One leaf is told: the first of which it is known who erred.
  const contradicted_leaf* told = nullptr;
  std::vector<uint32_t> by;
  for (const contradicted_leaf& leaf : what.leaves) {
    const std::vector<uint32_t> odd = who_erred(leaf);
    if (!told || (by.empty() && !odd.empty())) {
      told = &leaf;
      by = odd;
    }
    for (uint32_t rank : odd)
      if (std::find(out.odd.begin(), out.odd.end(), ranks.at(rank)) ==
          out.odd.end())
        out.odd.push_back(ranks.at(rank));
  }
  out.undecided = by.empty();
  if (!told)
    return out;
  const std::string owner = describe(ranks.at(told->owner));
  const std::string checker = describe(ranks.at(told->checker));
  out.why = "leaf " + std::to_string(told->leaf) + " of step " +
            to_string(what.step) + ": ";
  if (told->owner == told->checker)
    out.why += owner + " computed it twice, to other bits";
  else if (by.empty() || by[0] == told->owner)
    out.why += owner + " computed other bits than " + checker;
  else
    out.why += checker + " computed other bits than " + owner;
  return out;
}

bool equal_bits::may_retry(step_number step) {
  if (step != retried_)
    retries_ = 0;
  retried_ = step;
  return ++retries_ <= retries_max;
}

} // namespace ballast::coordinator
