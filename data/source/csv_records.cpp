#include "data/source/csv_records.hpp"

#include "data/source/cell_number.hpp"

#include <algorithm>

namespace ballast::data {

namespace {

/// By the first line that is not empty, outside of quotes.
char separator_of(std::string_view text) {
  bool quoted = false;
  char found = 0;
  for (size_t at = text.find_first_not_of("\r\n"); at < text.size(); ++at) {
    const char here = text[at];
    if (here == '"')
      quoted = !quoted;
    else if (quoted)
      continue;
    else if (here == '\r' || here == '\n' || here == ',')
      return here == ',' || found == 0 ? ',' : found;
    else if (here == ';' || (here == '\t' && found == 0))
      found = here;
  }
  return found == 0 ? ',' : found;
}

} // namespace

csv_records::csv_records(std::string_view text) : text_(text) {
  if (text_.starts_with("\xEF\xBB\xBF"))
    at_ = 3; // byte order mark
  ends_[0] = separator_of(text_.substr(at_));
}

/// From after an opening quote to the closing one.
std::string_view csv_records::quoted_field() {
  const size_t begin = at_;
  std::string* copy = nullptr;
  for (size_t part = at_;; at_ += 2, part = at_) {
    at_ = text_.find('"', at_);
    if (at_ == std::string_view::npos) {
      at_ = text_.size();
      broken_ = true;
      return text_.substr(begin);
    }
    const std::string_view piece = text_.substr(part, at_ - part);
    next_line_ += uint64_t(std::count(piece.begin(), piece.end(), '\n'));
    const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == '"';
    if (doubled && copy == nullptr)
      copy = &unescaped_.emplace_back();
    if (copy != nullptr)
      copy->append(piece);
    if (!doubled) {
      const size_t end = at_++;
      return copy != nullptr ? std::string_view(*copy)
                             : text_.substr(begin, end - begin);
    }
    *copy += '"';
  }
}

bool csv_records::next(std::vector<std::string_view>& fields) {
  fields.clear();
  unescaped_.clear();
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r'))
    next_line_ += text_[at_++] == '\n';
  if (at_ == text_.size())
    return false;
  line_ = next_line_;
  begin_ = at_;
  goes_on_ = false;
  for (;;) {
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    if (quoted) {
      ++at_;
      fields.push_back(quoted_field());
    }
    const size_t end = std::min(text_.find_first_of(ends_, at_), text_.size());
    const std::string_view plain = text_.substr(at_, end - at_);
    if (!quoted)
      fields.push_back(plain);
    else if (!trimmed(plain).empty())
      goes_on_ = true;
    at_ = end;
    if (at_ == text_.size() || text_[at_] != ends_[0])
      return true;
    ++at_;
  }
}

void csv_records::take_line() {
  at_ = std::min(text_.find_first_of("\r\n", begin_), text_.size());
  next_line_ = line_;
  broken_ = false;
  goes_on_ = false;
}

} // namespace ballast::data
