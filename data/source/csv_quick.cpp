#include "data/source/csv_quick.hpp"

#include "data/base/arrow_support.hpp"
#include "data/source/cell_number.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>

namespace ballast::data {

namespace {

static_assert(std::endian::native == std::endian::little,
              "eight digits are read as one number, the first in the low byte");

/// As many digits as a double has for sure, and powers of ten that it holds
/// exactly: the quotient is then rounded once, as it has to be (Clinger, "How
/// to read floating point numbers accurately", PLDI 1990).
constexpr uint64_t exact_max = uint64_t{1} << 53;
constexpr std::array<double, 23> powers_of_ten = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::array<uint64_t, 9> whole_powers = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
constexpr size_t digits_max = 18; // fit into 64 bits

/// What is no digit: the high bit of its byte. `low`: characters less '0'.
inline uint64_t no_digits(uint64_t low) {
  return (((low & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | low) &
         0x8080808080808080;
}

/// The number of eight digits, the first in the low byte: pairs, fours and
/// eights are joined.
inline uint64_t of_eight(uint64_t digits) {
  digits = (digits * 10) + (digits >> 8);
  return (((digits & 0x000000ff000000ff) * 0x000f424000000064) +
          (((digits >> 16) & 0x000000ff000000ff) * 0x0000271000000001)) >>
         32;
}

inline uint64_t eight_bytes(const char* at) {
  uint64_t out;
  std::memcpy(&out, at, sizeof(out));
  return out;
}

/// Without a branch: every second sign would be guessed wrong.
inline double with_sign(double number, bool minus) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(number) | uint64_t(minus)
                                                                     << 63);
}

/// Most numbers of most files: up to 7 digits and a point among them, taken
/// from one word. False, with nothing changed: anything else.
inline bool short_number(const char*& at, double& out) {
  const uint64_t low = eight_bytes(at) ^ 0x3030303030303030;
  const uint64_t other = no_digits(low);
  const auto whole = size_t(std::countr_zero(other)) / 8;
  const uint64_t behind = other & (other - 1);
  const auto length = size_t(std::countr_zero(behind)) / 8; // 8: all of them
  if (other == 0 || whole == 0 || length <= whole + 1 || at[whole] != '.' ||
      (length == 8 && at[8] >= '0' && at[8] <= '9'))
    return false;
  // The digits in front of the point close up to those behind it.
  const uint64_t front = (uint64_t{1} << (8 * whole)) - 1;
  const uint64_t joined = ((low & front) << 8) | (low & ~((front << 8) | 0xff));
  const uint64_t number = of_eight(joined << (64 - 8 * length));
  out = double(number) / powers_of_ten[length - whole - 1];
  at += length;
  return true;
}

/// The digits that `at` begins with, 8 at once, behind those of `number`.
/// Returns how many; more than digits_max: too many.
inline size_t take_digits(const char*& at, uint64_t& number) {
  size_t out = 0;
  for (;;) {
    const uint64_t low = eight_bytes(at) ^ 0x3030303030303030;
    // 8: all are digits.
    const auto count = size_t(std::countr_zero(no_digits(low))) / 8;
    if (count == 0)
      return out;
    number = number * whole_powers[count] + of_eight(low << (64 - 8 * count));
    at += count;
    out += count;
    if (count < 8 || out > digits_max)
      return out;
  }
}

/// As quick_number(), of a whole number.
bool quick_whole(const char*& at, int64_t& out) {
  const char* here = at;
  const bool minus = *here == '-';
  here += minus;
  uint64_t number = 0;
  const size_t digits = take_digits(here, number);
  if (digits == 0 || digits > digits_max)
    return false;
  out = minus ? -int64_t(number) : int64_t(number);
  at = here;
  return true;
}

enum class kind : uint8_t { skipped, number, whole, word, watched };

/// One column of the block while it is read.
struct column_cells {
  kind is = kind::skipped;
  bool exact = false; // of numbers: none with zeros in front
  double* numbers = nullptr;
  int64_t* wholes = nullptr;             // in the same memory
  std::shared_ptr<arrow::Buffer> memory; // of the numbers
  std::vector<int64_t> missing;          // rows
  std::vector<std::string_view> words;
};

class quick_parser {
public:
  quick_parser(const csv_format& how, std::string_view text, uint64_t rows_max)
      : how_(how), at_(text.data()), end_(text.data() + text.size()),
        // Each has at least a byte for every cell.
        rows_max_(int64_t(std::min<uint64_t>(
            rows_max, text.size() / how.columns.size() + 1))),
        columns_(how.columns.size()) {
    for (std::string_view one : how.null_values)
      if (one.empty() || !std::isalpha(static_cast<unsigned char>(one[0])))
        quick_ = false; // it may look like a number
    for (int i : how.chosen) {
      column_cells& one = columns_[size_t(i)];
      const cell_type& type = how.columns[size_t(i)].type;
      one.is = type.is == column_type::float64 ? kind::number
               : type.is == column_type::int64 ? kind::whole
                                               : kind::word;
      one.exact = type.exact;
      if (one.is == kind::word || one.memory != nullptr)
        continue;
      one.memory =
          take_arrow(arrow::AllocateBuffer(rows_max_ * int64_t(sizeof(double))),
                     errc::device_failed, how.path);
      one.numbers = reinterpret_cast<double*>(one.memory->mutable_data());
      one.wholes = reinterpret_cast<int64_t*>(one.memory->mutable_data());
    }
    for (const auto& [column, first] : how.watched)
      if (columns_[column].is == kind::skipped)
        columns_[column].is = kind::watched;
      else
        plain_ = false; // both
  }

  /// False: give up.
  bool read() {
    if (!plain_)
      return false;
    for (;;) {
      while (at_ < end_ && is_line_end(*at_))
        ++at_;
      row_begin_ = at_;
      if (at_ >= end_)
        return true;
      if (rows_ == rows_max_ || !read_row())
        return false;
      ++rows_;
    }
  }
  /// Of read() that gave up: where, behind the rows that are whole.
  const char* give_up() {
    for (column_cells& one : columns_) {
      if (one.words.size() > size_t(rows_))
        one.words.resize(size_t(rows_));
      while (!one.missing.empty() && one.missing.back() >= rows_)
        one.missing.pop_back();
    }
    return row_begin_;
  }

  /// Null: there is no row. Nothing: a cell is not of its column's type.
  std::optional<std::shared_ptr<arrow::RecordBatch>> batch() const {
    if (rows_ == 0)
      return nullptr;
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (int i : how_.chosen) {
      fields.push_back(how_.field(i));
      const column_cells& one = columns_[size_t(i)];
      size_t bad = 0;
      arrays.push_back(
          one.is == kind::number ? numbers<arrow::DoubleArray>(one)
          : one.is == kind::whole
              ? numbers<arrow::Int64Array>(one)
              : array_of_cells(how_.columns[size_t(i)].type, one.words, bad));
      if (arrays.back() == nullptr)
        return std::nullopt;
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows_,
                                    std::move(arrays));
  }

private:
  static bool is_line_end(char one) { return one == '\n' || one == '\r'; }
  bool ends_cell(char one) const {
    return one == how_.separator || is_line_end(one);
  }

  bool read_row() {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) {
        if (*at_ != how_.separator || at_ >= end_)
          return false; // too few
        ++at_;
      }
      if (!read_cell(columns_[i]))
        return false;
    }
    return at_ >= end_ || is_line_end(*at_); // else too many
  }

  bool read_cell(column_cells& column) {
    if (column.is == kind::number && quick_) {
      const char* at = at_;
      if (double found; quick_number(at, found) && ends_cell(*at) &&
                        !(column.exact && zeros_in_front(at_))) {
        column.numbers[rows_] = found;
        at_ = at;
        return true;
      }
    }
    if (column.is == kind::whole && quick_) {
      const char* at = at_;
      if (int64_t found; quick_whole(at, found) && ends_cell(*at) &&
                         !(column.exact && zeros_in_front(at_))) {
        column.wholes[rows_] = found;
        at_ = at;
        return true;
      }
    }
    const char* begin = at_;
    while (!ends_cell(*at_))
      ++at_;
    const std::string_view cell(begin, size_t(at_ - begin));
    switch (column.is) {
    case kind::skipped:
      return true;
    case kind::word:
      column.words.push_back(how_.value_of(cell));
      return true;
    case kind::number:
      return read_number(column, cell);
    case kind::whole:
      return read_whole(column, cell);
    case kind::watched:
      break;
    }
    double found = 0;
    return parse_number(how_.value_of(cell), found) != parsed::number ||
           !std::isfinite(found);
  }

  /// Or a minus sign before 0, which no whole number has.
  static bool zeros_in_front(const char* at) {
    const bool minus = *at == '-';
    at += minus;
    return *at == '0' &&
           ((at[1] >= '0' && at[1] <= '9') || (minus && at[1] != '.'));
  }

  /// Those that are long or written otherwise, and missing ones.
  bool read_whole(column_cells& column, std::string_view cell) const {
    const std::string_view value = how_.value_of(cell);
    const auto& type = how_.columns[size_t(&column - columns_.data())].type;
    if (value.empty()) {
      column.wholes[rows_] = 0;
      column.missing.push_back(rows_);
      return true;
    }
    return read_whole_cell(type, value, column.wholes[rows_]);
  }

  bool read_number(column_cells& column, std::string_view cell) const {
    double& out = column.numbers[rows_];
    const std::string_view value = how_.value_of(cell);
    if (column.exact && !is_kept(column_type::float64, value))
      return false;
    switch (parse_number(value, out)) {
    case parsed::number:
      return true;
    case parsed::empty:
      out = 0;
      column.missing.push_back(rows_);
      return true;
    case parsed::text:
      break;
    }
    return false;
  }

  template <class ArrayType>
  std::shared_ptr<arrow::Array> numbers(const column_cells& of) const {
    std::shared_ptr<arrow::Buffer> valid;
    if (!of.missing.empty()) {
      valid = take_arrow(arrow::AllocateBitmap(rows_), errc::device_failed,
                         how_.path);
      std::memset(valid->mutable_data(), 0xff, size_t(valid->size()));
      for (int64_t row : of.missing)
        valid->mutable_data()[row / 8] &= uint8_t(~(1u << (row % 8)));
    }
    return std::make_shared<ArrayType>(
        rows_,
        arrow::SliceBuffer(of.memory, 0, rows_ * int64_t(sizeof(double))),
        valid, int64_t(of.missing.size()));
  }

  const csv_format& how_;
  const char* at_;
  const char* row_begin_ = at_; // of the row that is read
  const char* const end_;       // a line end is there
  const int64_t rows_max_;
  int64_t rows_ = 0;
  bool quick_ = true; // no number means that the cell is missing
  bool plain_ = true;
  std::vector<column_cells> columns_;
};

} // namespace

bool quick_number(const char*& at, double& out) {
  const char* here = at;
  const bool minus = *here == '-';
  here += minus;
  if (short_number(here, out)) {
    out = with_sign(out, minus);
    at = here;
    return true;
  }
  uint64_t number = 0;
  size_t digits = take_digits(here, number);
  if (digits == 0 || digits > digits_max)
    return false;
  size_t fraction = 0;
  if (*here == '.') {
    ++here;
    fraction = take_digits(here, number);
    digits += fraction;
    if (fraction == 0 || digits > digits_max)
      return false;
  }
  if (number > exact_max)
    return false;
  const double found = double(number) / powers_of_ten[fraction];
  out = with_sign(found, minus);
  at = here;
  return true;
}

std::optional<std::shared_ptr<arrow::RecordBatch>>
parse_quickly(const csv_format& how, std::string_view text, uint64_t rows_max,
              size_t& stop) {
  stop = 0;
  if (text.find('"') != std::string_view::npos)
    return std::nullopt;
  quick_parser parser(how, text, rows_max);
  stop = parser.read() ? text.size() : size_t(parser.give_up() - text.data());
  return parser.batch();
}

std::optional<std::shared_ptr<arrow::RecordBatch>>
parse_quickly(const csv_format& how, std::string_view text, uint64_t rows_max) {
  if (text.find('"') != std::string_view::npos)
    return std::nullopt;
  quick_parser parser(how, text, rows_max);
  if (!parser.read())
    return std::nullopt;
  return parser.batch();
}

} // namespace ballast::data
