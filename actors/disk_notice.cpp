#include "actors/disk_notice.hpp"

#include "runtime/base/disk_wait.hpp"

namespace ballast::actors {

coordinator::actions disk_notice::note(const coordinator::roster& nodes,
                                       instant now) {
  coordinator::actions out;
  for (const auto& [id, who] : nodes.all()) {
    bool waits = who.connected && who.last.phase == worker_phase::disk_full;
    if (waits) {
      workers_.try_emplace(who.about.name, now);
      continue;
    }
    auto found = workers_.find(who.about.name);
    if (found == workers_.end())
      continue;
    instant took = now - found->second;
    workers_.erase(found);
    out.push_back(coordinator::write_event{
        coordinator::events::disk_full{took, who.about.name}});
  }
  return out;
}

std::string disk_notice::sentence(std::chrono::seconds patience) const {
  if (workers_.empty())
    return {};
  return "disk full: worker " + workers_.begin()->first +
         " cannot write its trace; the run waits for it up to " +
         std::to_string(patience.count()) + " s (elastic.grace_s)";
}

bool disk_notice::is_due(const std::string& text, instant now) {
  bool due = !text.empty() && ((last_.empty() && text != told_text_) ||
                               now - told_ >= disk_wait::tell_every);
  last_ = text;
  if (due) {
    told_text_ = text;
    told_ = now;
  }
  return due;
}

} // namespace ballast::actors
