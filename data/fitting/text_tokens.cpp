#include "data/fitting/text_tokens.hpp"

#include "data/base/arrow_support.hpp"
#include "data/expression/binding.hpp"
#include "data/fitting/category_index.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/errors.hpp"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <string>
#include <utility>

namespace ballast::data {

namespace {

using graph::token_unit;
using graph::value_of;

constexpr uint64_t word_characters_min = 2;

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return uint8_t(c) >= 0x80; });
}

/// Of a text whose other characters are no bytes of ASCII.
bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || uint8_t(c) >= 0x80;
}

bool begins_character(char c) {
  return (uint8_t(c) & 0xC0) != 0x80;
}

/// How many bytes at `at` are one character of space; 0: it is another one.
size_t space_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? uint8_t(text[at + i]) : uint8_t{0};
  };
  const uint8_t first = byte(0);
  if (first == ' ' || (first >= '\t' && first <= '\r') ||
      (first >= 0x1C && first <= 0x1F))
    return 1;
  if (first == 0xC2 && (byte(1) == 0x85 || byte(1) == 0xA0))
    return 2;
  const uint32_t three =
      uint32_t(first) << 16 | uint32_t(byte(1)) << 8 | byte(2);
  const bool wide = three == 0xE19A80 || three == 0xE280A8 ||
                    three == 0xE280A9 || three == 0xE280AF ||
                    three == 0xE2819F || three == 0xE38080 ||
                    (three >= 0xE28080 && three <= 0xE2808A);
  return wide ? 3 : 0;
}

/// Texts of a column, whichever width their offsets have.
std::string_view text_at(const arrow::Array& column, int64_t row) {
  return column.type_id() == arrow::Type::STRING
             ? static_cast<const arrow::StringArray&>(column).GetView(row)
             : static_cast<const arrow::LargeStringArray&>(column).GetView(row);
}

/// Whether all texts are of ASCII.
bool check_texts(const arrow::Array& column, const cell_owner& owner,
                 const row_finder& place) {
  arrow::util::InitializeUTF8();
  bool ascii = true;
  for (int64_t row = 0; row < column.length(); ++row) {
    if (column.IsNull(row))
      refuse_missing(owner, place, row);
    const std::string_view text = text_at(column, row);
    if (is_ascii(text))
      continue;
    ascii = false;
    if (!arrow::util::ValidateUTF8(text))
      throw row_error(place(row), owner.column,
                      "the text is not UTF-8, which \"" + owner.step +
                          "\" needs; expected UTF-8: write the file anew",
                      owner.pointer, {});
  }
  return ascii;
}

std::shared_ptr<arrow::Array> called(const char* function,
                                     std::shared_ptr<arrow::Array> column,
                                     const cell_owner& owner) {
  return take_arrow(arrow::compute::CallFunction(function, {column}),
                    errc::invalid_data, owner.column)
      .make_array();
}

std::shared_ptr<arrow::Array>
with_replaced(const std::shared_ptr<arrow::Array>& column,
              const std::string& pattern, const std::string& by,
              const cell_owner& owner) {
  const arrow::compute::ReplaceSubstringOptions how(pattern, by);
  return take_arrow(arrow::compute::CallFunction("replace_substring_regex",
                                                 {column}, &how),
                    errc::invalid_data, owner.column)
      .make_array();
}

/// Without the characters between words, which RE2 knows of all scripts.
std::shared_ptr<arrow::Array>
without_marks(const std::shared_ptr<arrow::Array>& column,
              const cell_owner& owner) {
  return with_replaced(column, "[^\\pL\\pN_]+", " ", owner);
}

/// A capital sigma that ends a word, by Unicode's rule: behind a letter with
/// two cases and before none, whatever of accents and marks is between.
std::string sigma_at_an_end() {
  const std::string cased = "\\p{Lu}\\p{Ll}\\p{Lt}";
  const std::string passed = "\\p{Mn}\\p{Me}\\p{Cf}\\p{Lm}\\p{Sk}'.:\\x{b7}"
                             "\\x{387}\\x{2018}\\x{2019}\\x{2024}\\x{2027}";
  return "([" + cased + "][" + passed + "]*)\\x{3a3}([" + passed + "]*(?:[^" +
         cased + passed + "]|\\z))";
}

/// As Python does it: Arrow's function looks at one character at a time, and
/// two of all depend on their neighbours, or become two.
std::shared_ptr<arrow::Array> lowered(std::shared_ptr<arrow::Array> column,
                                      bool ascii, const cell_owner& owner) {
  if (ascii)
    return called("ascii_lower", std::move(column), owner);
  bool has_sigma = false;
  bool has_dotted_i = false;
  for (int64_t row = 0; row < column->length(); ++row) {
    const std::string_view text = text_at(*column, row);
    has_sigma = has_sigma || text.find("\xCE\xA3") != std::string_view::npos;
    has_dotted_i =
        has_dotted_i || text.find("\xC4\xB0") != std::string_view::npos;
  }
  if (has_dotted_i) // a small i with a dot above it
    column = with_replaced(column, "\\x{130}", "i\xCC\x87", owner);
  if (has_sigma) // at the end of a word a small one of its own
    column = with_replaced(column, sigma_at_an_end(), "\\1\xCF\x82\\2", owner);
  return called("utf8_lower", std::move(column), owner);
}

/// What tokens are made of, one text after another.
class token_maker {
public:
  explicit token_maker(const token_terms& terms) : terms_(terms) {}

  const std::vector<std::string_view>& of(std::string_view text) {
    units_.clear();
    tokens_.clear();
    made_.clear();
    ends_.clear();
    if (terms_.kind == token_unit::words)
      find_words(text);
    else
      find_characters(text);
    for (uint64_t size = terms_.ngram_min; size <= terms_.ngram_max; ++size)
      for (size_t i = 0; i + size <= units_.size(); ++i)
        add(i, size);
    for (size_t i = 0; i < ends_.size(); ++i) {
      const size_t begin = i == 0 ? 0 : ends_[i - 1];
      tokens_.push_back(
          std::string_view(made_).substr(begin, ends_[i] - begin));
    }
    return tokens_;
  }

private:
  void find_words(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      while (at < text.size() && !is_word_byte(text[at]))
        ++at;
      const size_t begin = at;
      uint64_t characters = 0;
      for (; at < text.size() && is_word_byte(text[at]); ++at)
        characters += begins_character(text[at]) ? 1 : 0;
      const std::string_view word = text.substr(begin, at - begin);
      if (characters >= word_characters_min &&
          (terms_.stop_words.empty() || !terms_.stop_words.contains(word)))
        units_.push_back(word);
    }
  }

  void find_characters(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      size_t spaces = 0;
      for (size_t more = 0; (more = space_bytes(text, end)) > 0; ++spaces)
        end += more;
      if (spaces > 1) {
        units_.push_back(" ");
        at = end;
        continue;
      }
      end = at + 1;
      while (end < text.size() && !begins_character(text[end]))
        ++end;
      units_.push_back(text.substr(at, end - at));
      at = end;
    }
  }

  /// Behind those that are made; views come once all are.
  void add(size_t first, uint64_t size) {
    for (size_t i = first; i < first + size; ++i) {
      if (i > first && terms_.kind == token_unit::words)
        made_ += ' ';
      made_ += units_[i];
    }
    ends_.push_back(made_.size());
  }

  const token_terms& terms_;
  std::vector<std::string_view> units_;
  std::string made_;
  std::vector<size_t> ends_; // of the tokens in it
  std::vector<std::string_view> tokens_;
};

} // namespace

token_terms token_terms_of(const graph::node& one, const std::string& pointer) {
  token_terms out;
  out.kind = *parse_word<token_unit>(value_of<std::string>(one, "analyzer"));
  out.ngram_min = value_of<uint64_t>(one, "ngram_min");
  out.ngram_max = value_of<uint64_t>(one, "ngram_max");
  out.lowercase = value_of<bool>(one, "lowercase");
  for (std::string& word :
       value_of<std::vector<std::string>>(one, "stop_words"))
    out.stop_words.insert(std::move(word));
  if (out.ngram_min > out.ngram_max)
    throw ballast_error(
        errc::invalid_job,
        pointer + "/ngram_min: " + std::to_string(out.ngram_min) +
            " is more than \"ngram_max\", " + std::to_string(out.ngram_max) +
            "; expected as many or fewer",
        pointer + "/ngram_min");
  if (out.kind == token_unit::characters && !out.stop_words.empty())
    throw ballast_error(errc::invalid_job,
                        pointer + "/stop_words: means nothing with analyzer "
                                  "\"characters\"; leave it out",
                        pointer + "/stop_words");
  return out;
}

void text_tokens::for_each(
    const arrow::Array& column, const cell_owner& owner,
    const row_finder& place,
    const std::function<void(
        int64_t row, const std::vector<std::string_view>& tokens)>& see) const {
  prepare_functions();
  const bool ascii = check_texts(column, owner, place);
  std::shared_ptr<arrow::Array> texts = arrow::MakeArray(column.data());
  if (terms_.lowercase)
    texts = lowered(std::move(texts), ascii, owner);
  if (!ascii && terms_.kind == token_unit::words)
    texts = without_marks(texts, owner);
  token_maker maker(terms_);
  for (int64_t row = 0; row < texts->length(); ++row)
    see(row, maker.of(text_at(*texts, row)));
}

size_t token_counts::text_hash::operator()(std::string_view text) const {
  return category_hash(text);
}

void token_counts::add(int64_t row, std::string_view token) {
  auto found = counts_.find(token);
  if (found == counts_.end())
    found = counts_.emplace(std::string(token), count{}).first;
  count& of = found->second;
  ++of.times;
  of.rows += of.last_row != row ? 1 : 0;
  of.last_row = row;
}

void token_counts::end_rows() {
  for (auto& [token, of] : counts_)
    of.last_row = -1;
}

void token_counts::merge(token_counts other) {
  if (other.counts_.size() > counts_.size())
    std::swap(counts_, other.counts_);
  for (const auto& [token, of] : other.counts_) {
    count& to = counts_[token];
    to.times += of.times;
    to.rows += of.rows;
  }
}

} // namespace ballast::data
