#include "data/source/csv_text.hpp"

#include "data/source/csv_records.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ballast::data {

size_t whole_records(std::string_view text, char separator, bool end) {
  if (end)
    return text.size();
  constexpr auto none = std::string_view::npos;
  const auto is_break = [&](char one) {
    return one == separator || one == '\n' || one == '\r';
  };
  size_t out = 0;
  size_t at = 0;
  for (;;) {
    const size_t quote = text.find('"', at);
    const std::string_view plain = text.substr(0, quote);
    size_t line_end = plain.rfind('\n');
    if (line_end == none || line_end < at)
      line_end = plain.rfind('\r');
    if (line_end != none && line_end >= at)
      out = line_end + 1;
    if (quote == none)
      return out;
    // A quote within a cell is a letter like any other.
    const bool first = quote == 3 && text.starts_with("\xEF\xBB\xBF");
    if (quote > 0 && !first && !is_break(text[quote - 1])) {
      at = quote + 1;
      continue;
    }
    size_t close = text.find('"', quote + 1);
    while (close != none && close + 1 < text.size() && text[close + 1] == '"')
      close = text.find('"', close + 2);
    if (close == none || close + 1 == text.size())
      return out; // it may be the first half of a doubled one
    at = close + 1;
  }
}

csv_text::csv_text(text_input input, size_t block_bytes)
    : input_(std::move(input)), block_bytes_(block_bytes) {}

/// As much as there is already, so that a long record is looked through a few
/// times only.
void csv_text::more(csv_block& to) {
  const size_t bytes = std::max(block_bytes_, to.size);
  auto memory = std::make_unique_for_overwrite<char[]>(to.size + bytes +
                                                       csv_block::behind);
  if (to.size > 0)
    std::memcpy(memory.get(), to.memory.get(), to.size);
  const size_t got = input_(memory.get() + to.size, bytes);
  at_end_ = got < bytes;
  to.memory = std::move(memory);
  to.size += got;
}

bool csv_text::next(csv_block& out) {
  out = std::exchange(rest_, {});
  size_t whole = 0;
  while (whole == 0 && !at_end_) {
    more(out);
    if (separator_ == 0)
      separator_ = csv_records(out.text()).separator();
    whole = whole_records(out.text(), separator_, at_end_);
    if (whole == 0 && out.size > csv_record_bytes_max)
      too_long_ = at_end_ = true;
  }
  if (out.size == 0)
    return false;
  if (at_end_)
    whole = out.size;
  rest_.size = out.size - whole;
  if (rest_.size > 0) {
    rest_.memory = std::make_unique_for_overwrite<char[]>(rest_.size);
    std::memcpy(rest_.memory.get(), out.memory.get() + whole, rest_.size);
  }
  out.size = whole;
  out.last = at_end_ && rest_.size == 0;
  std::memset(out.memory.get() + whole, 0, csv_block::behind);
  out.memory[whole] = '\n';
  return true;
}

} // namespace ballast::data
