/// Reading the files of a source in their order while others read some of them
/// apart: which of them, and what they must know for it. For the readers of
/// sources. Includes Arrow; for source files of data/ only.
#pragma once

#include "data/source/column_choice.hpp"
#include "data/source/csv_rows.hpp"
#include "data/source/fragment_supply.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace ballast::data {

/// Whether what was read says how the files that follow are to be read.
bool is_decided(const source_table& table, const table_rows& rows,
                const source_request& request);
/// What it says.
fragment_choice choice_of(const source_table& table, bool text_labels,
                          const text_cells& texts);

/// The files that others read, if anybody does.
class files_apart {
public:
  explicit files_apart(fragment_supply* from) : from_(from) {}

  bool can_begin() const { return from_ != nullptr && !first_; }
  /// File `next` of them all, and those behind it.
  void begin(const std::vector<stored_file>& files, size_t next,
             const fragment_choice& choice) {
    first_ = next;
    from_->begin({files.begin() + ptrdiff_t(next), files.end()}, choice);
  }
  /// Null: it is to be read here.
  std::unique_ptr<fragment_file> take(size_t file) {
    return first_ ? from_->take(file - *first_) : nullptr;
  }

private:
  fragment_supply* const from_;
  std::optional<size_t> first_;
};

} // namespace ballast::data
