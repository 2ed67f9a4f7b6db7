#include "runtime/ledger/row_order.hpp"

#include <utility>

namespace ballast::ledger {

row_order::row_order(std::shared_ptr<const global_order> of, uint64_t at,
                     const share& held)
    : of_(in_all{std::move(of), at, held.intervals, {}}) {}

void row_order::draw(const std::vector<step_part>& of_step,
                     std::vector<row_ref>& out) {
  for (step_part part : of_step) {
    if (auto* own = std::get_if<sequence>(&of_)) {
      own->draw(part.count, out);
      continue;
    }
    auto& all = std::get<in_all>(of_);
    all.of->draw(part, all.known, out);
    all.at = part.first + part.count;
  }
}

void row_order::upcoming(std::vector<chunk_id>& out) const {
  if (const auto* own = std::get_if<sequence>(&of_))
    return own->upcoming(out);
  const auto& all = std::get<in_all>(of_);
  std::vector<chunk_id> list;
  all.of->upcoming(all.at, list);
  if (all.of->has_window()) {
    out.insert(out.end(), list.begin(), list.end());
    return;
  }
  // Each is used as soon as any other: what it owns is at hand already, or is
  // what only this rank is asked to have.
  std::vector<bool> own(list.size() > 0 ? value(list.back()) + 1 : 0);
  for (const interval& piece : all.held)
    if (value(piece.chunk) < own.size() && !own[value(piece.chunk)]) {
      own[value(piece.chunk)] = true;
      out.push_back(piece.chunk);
    }
  for (chunk_id id : list)
    if (!own[value(id)])
      out.push_back(id);
}

uint64_t row_order::window_end() const {
  if (const auto* own = std::get_if<sequence>(&of_))
    return own->window_end();
  const auto& all = std::get<in_all>(of_);
  return all.of->window_of(all.at);
}

bool row_order::takes_turns() const {
  const auto* own = std::get_if<sequence>(&of_);
  return own == nullptr || own->has_window();
}

bool row_order::is_of_all() const {
  return std::holds_alternative<in_all>(of_);
}

} // namespace ballast::ledger
