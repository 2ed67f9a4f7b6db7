// An operator: a row for each number of a text such as "12;7;3", which the
// column `item` then holds. What is no number is an error with its row.
//
//   g++ -O2 -shared -fPIC -I ../../include split_items.cpp -o libsplit_items.so
#include <ballast/operator.hpp>

#include <nlohmann/json.hpp>

#include <charconv>

namespace {

struct splitter {
  std::string column;
  char separator = ';';
  int64_t place = 0; // of the column in what comes in

  splitter(const char* options, const ArrowSchema* input) {
    const auto said = nlohmann::json::parse(options);
    column = said.value("column", "items");
    const std::string text = said.value("separator", ";");
    if (text.size() != 1)
      throw ballast::wrong_value("", "\"separator\": expected one character");
    separator = text[0];
    place = ballast::column_of(input, column, "u");
  }

  int64_t number(std::string_view text, int64_t row) const {
    int64_t out = 0;
    const auto read =
        std::from_chars(text.data(), text.data() + text.size(), out);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size())
      throw ballast::wrong_value(
          column,
          "expected whole numbers with '" + std::string(1, separator) +
              "' between them, found '" + std::string(text) + "'",
          row);
    return out;
  }

  void split(const ArrowArray& rows, ArrowArray* output,
             ArrowArray* from) const {
    const ArrowArray& texts = *rows.children[place];
    std::vector<int64_t> items;
    std::vector<int64_t> origins;
    for (int64_t row = 0; row < rows.length; ++row) {
      if (ballast::is_null(texts, row))
        continue; // no items, no rows
      std::string_view left = ballast::text_at(texts, row);
      while (!left.empty()) {
        const size_t end = std::min(left.find(separator), left.size());
        items.push_back(number(left.substr(0, end), row));
        origins.push_back(row);
        left.remove_prefix(std::min(end + 1, left.size()));
      }
    }
    ballast::give_rows(int64_t(items.size()),
                       {ballast::column_of_numbers(items)}, output);
    *from = ballast::column_of_numbers(origins);
  }
};

int32_t open_split(const char* options, const ArrowSchema* input,
                   ArrowSchema* output, void** stream,
                   ballast_operator_error* error) {
  return ballast::guarded(error, [&] {
    auto made = std::make_unique<splitter>(options, input);
    ballast::give_schema({{"item", "l"}}, output);
    *stream = made.release();
  });
}

int32_t apply_split(void* stream, const ArrowArray* rows, ArrowArray* output,
                    ArrowArray* from, ballast_operator_error* error) {
  return ballast::guarded(error, [&] {
    static_cast<const splitter*>(stream)->split(*rows, output, from);
  });
}

void close_split(void* stream) {
  delete static_cast<splitter*>(stream);
}

const ballast_operator operators[] = {{"split_items",
                                       BALLAST_OPERATOR_CONCURRENT, open_split,
                                       apply_split, close_split}};

} // namespace

BALLAST_OPERATORS(operators)
