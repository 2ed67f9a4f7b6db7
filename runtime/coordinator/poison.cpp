#include "runtime/coordinator/poison.hpp"

#include <utility>

namespace ballast::coordinator {

namespace {

/// All ranks refuse the same step; the slowest one's word may take so long.
constexpr std::chrono::seconds refusal_wait{5};
/// Deaths with the same sample in flight before it is held to be the cause.
constexpr uint32_t deaths_max = 3;

} // namespace

void poison::locate(std::optional<ledger::ledger> at, uint64_t epochs) {
  if (at && value(at->next().epoch) <= epochs) {
    const std::vector<ledger::share>& shares = at->current().shares;
    for (size_t rank = 0; rank < shares.size(); ++rank) {
      auto found = deaths_.find(shares[rank].worker);
      if (found == deaths_.end() || found->second.rows)
        continue;
      at->order_of(rank).draw(at->parts_of(rank), found->second.rows.emplace());
    }
  }
  // A guess would accuse others.
  std::erase_if(deaths_, [](const auto& one) { return !one.second.rows; });
}

void poison::nobody_survived() {
  for (auto& [who, death] : deaths_)
    death.nobody_survived = death.nobody_survived || !death.rows;
}

void poison::explain(worker_id who, const loss_cause& how) {
  auto found = deaths_.find(who);
  if (found == deaths_.end())
    return;
  if (own_fault(how))
    found->second.how = how;
  else
    deaths_.erase(found);
}

void poison::judge(outbox& out, const roster& nodes, step_number back_to) {
  for (auto it = deaths_.begin(); it != deaths_.end();) {
    const step_death& one = it->second;
    if (!one.how || (!one.rows && !one.nobody_survived)) {
      ++it;
      continue;
    }
    auto node = deaths_.extract(it++);
    judge(out, nodes.name_of(node.key()), std::move(node.mapped()), back_to);
  }
}

void poison::judge(outbox& out, const std::string& name, step_death death,
                   step_number back_to) {
  std::string last =
      "the last one was " + name + " (" + describe(*death.how) + ")";
  if (!death.rows) {
    // Where others saw what a worker was at, the next ones to see it will tell
    // more than that the last of a few dies, too.
    const uint32_t most = suspects_.empty() ? deaths_max : 2 * deaths_max;
    if (++deaths_in_vain_ >= most)
      out.put(give_up{
          {errc::worker_lost,
           std::to_string(deaths_in_vain_) +
               " times the last worker died by its own fault and the run went "
               "back to step " +
               to_string(back_to) + "; " + last + ": see its file in logs/",
           {}},
          {}});
    return;
  }
  std::vector<ledger::row_ref> guilty;
  for (const ledger::row_ref& row : *death.rows)
    if (++suspects_[row] >= deaths_max)
      guilty.push_back(row);
  if (!guilty.empty())
    out.put(give_up{{errc::poison_sample,
                     std::to_string(deaths_max) +
                         " workers died with the same samples in "
                         "flight, " +
                         last,
                     {}},
                    std::move(guilty)});
}

void poison::acquit(const ledger::ledger& at) {
  std::vector<ledger::row_ref> rows;
  for (size_t rank = 0; rank < at.takes().size(); ++rank)
    at.order_of(rank).draw(at.parts_of(rank), rows);
  for (const ledger::row_ref& row : rows)
    suspects_.erase(row);
}

bool poison::refuse(const worker_failed& message, instant now) {
  const bool first = !refused_;
  if (first)
    refused_ = refused_step{message.step,       message.code, message.message,
                            now + refusal_wait, {},           {}};
  // Done again by others, the step is parted among them in another way.
  if (std::exchange(refused_->under, message.generation) != message.generation)
    refused_->sample_ids.clear();
  refused_->sample_ids[message.worker] = message.sample_ids;
  return first;
}

} // namespace ballast::coordinator
