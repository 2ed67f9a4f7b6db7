#include "data/inference/feature_rows.hpp"

#include "data/inference/row_supply.hpp"
#include "runtime/job/job_words.hpp"

#include <algorithm>
#include <utility>

namespace ballast::data {

struct feature_rows::parts {
  std::unique_ptr<row_supply> from;
  size_t width = 0; // numbers of a row
  labelled_features held;
  size_t given = 0; // rows of `held` that went out
  bool ended = false;

  /// Rows that went out make room for those behind them.
  void forget() {
    held.features.erase(held.features.begin(),
                        held.features.begin() + ptrdiff_t(given * width));
    if (!held.labels.empty())
      held.labels.erase(held.labels.begin(),
                        held.labels.begin() + ptrdiff_t(given));
    if (!held.slices.empty())
      held.slices.erase(held.slices.begin(),
                        held.slices.begin() + ptrdiff_t(given));
    held.rows -= given;
    given = 0;
  }
};

static bool is_of_pictures(source_format format) {
  return format == source_format::idx || is_pictures(format);
}

feature_rows::feature_rows(const trained_run& of, const input_terms& terms)
    : parts_(std::make_unique<parts>()) {
  parts_->width = of.row.features;
  parts_->from = is_of_pictures(of.what.data.train.format)
                     ? picture_supply(of, terms)
                     : table_supply(of, terms);
}

feature_rows::~feature_rows() = default;

labelled_features feature_rows::next(size_t rows) {
  parts& all = *parts_;
  all.forget();
  const labelled_features& held = all.held;
  while (!all.ended && held.rows < rows)
    all.ended = !all.from->add(all.held);
  labelled_features out;
  out.rows = std::min(rows, held.rows);
  out.features.assign(held.features.begin(),
                      held.features.begin() + ptrdiff_t(out.rows * all.width));
  if (!held.labels.empty())
    out.labels.assign(held.labels.begin(),
                      held.labels.begin() + ptrdiff_t(out.rows));
  if (!held.slices.empty())
    out.slices.assign(held.slices.begin(),
                      held.slices.begin() + ptrdiff_t(out.rows));
  all.given = out.rows;
  return out;
}

std::string feature_rows::version() const {
  return parts_->from->version();
}

void feature_rows::check_unchanged() const {
  parts_->from->check_unchanged();
}

} // namespace ballast::data
