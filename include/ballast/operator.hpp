/// operator.h in C++: columns that are read, columns that are made, and
/// exceptions for errors. Values of a call: one thread, unless you share them.
/// Needs C++17 and nothing else.
///
/// A function of an operator is `return ballast::guarded(error, [&] { ... });`,
/// where a wrong value throws ballast::wrong_value.
#pragma once

#include <ballast/operator.h>

#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast {

/// What is wrong with a column, or with a row of it.
class wrong_value : public std::runtime_error {
public:
  wrong_value(std::string of_column, const std::string& text,
              int64_t of_row = -1)
      : std::runtime_error(text), column(std::move(of_column)), row(of_row) {}
  const std::string column;
  const int64_t row;
};

inline void put_text(char* into, size_t bytes, const std::string& text) {
  std::strncpy(into, text.c_str(), bytes - 1);
  into[bytes - 1] = '\0';
}

/// Does the work; what it throws becomes the error of the call.
template <class Work>
int32_t guarded(ballast_operator_error* error, Work work) noexcept {
  try {
    work();
    return 0;
  } catch (const wrong_value& e) {
    error->row = e.row;
    put_text(error->column, sizeof error->column, e.column);
    put_text(error->text, sizeof error->text, e.what());
  } catch (const std::exception& e) {
    put_text(error->text, sizeof error->text, e.what());
  }
  return 1;
}

/// The number of the input's column of this name; `format` is Arrow's: "u" of
/// text, "l" of int64, "g" of float64. Throws wrong_value.
inline int64_t column_of(const ArrowSchema* input, const std::string& name,
                         const std::string& format) {
  for (int64_t i = 0; i < input->n_children; ++i)
    if (name == input->children[i]->name) {
      if (format == input->children[i]->format)
        return i;
      throw wrong_value(name, "expected the type '" + format + "', found '" +
                                  input->children[i]->format + "'");
    }
  throw wrong_value(name, "there is no such column");
}

inline bool is_null(const ArrowArray& column, int64_t row) {
  const auto* valid = static_cast<const uint8_t*>(column.buffers[0]);
  const int64_t at = column.offset + row;
  return valid != nullptr && (valid[at / 8] >> (at % 8) & 1) == 0;
}

/// Numbers of a column (int64_t, double, ...), one after another.
template <class Number>
const Number* numbers_in(const ArrowArray& column) {
  return static_cast<const Number*>(column.buffers[1]) + column.offset;
}

/// A text of a column with the format "u"; not of a null.
inline std::string_view text_at(const ArrowArray& column, int64_t row) {
  const auto* ends = numbers_in<int32_t>(column) + row;
  return {static_cast<const char*>(column.buffers[2]) + ends[0],
          size_t(ends[1] - ends[0])};
}

// -- what is given back -------------------------------------------------------

/// A node of what is given back, with all that it points to: it is released by
/// whoever has it.
template <class Node>
struct owned_node {
  std::vector<std::vector<char>> bytes;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Node*> children;

  void adopt(Node child) {
    nodes.push_back(std::make_unique<Node>(child));
    children.push_back(nodes.back().get());
  }
  const char* text(const std::string& text) {
    bytes.emplace_back(text.c_str(), text.c_str() + text.size() + 1);
    return bytes.back().data();
  }
  static void release(Node* node) {
    auto* own = static_cast<owned_node*>(node->private_data);
    for (Node* child : own->children)
      if (child->release != nullptr)
        child->release(child);
    delete own;
    node->release = nullptr;
  }
};

/// A column by its name and Arrow's format.
struct made_column {
  std::string name;
  std::string format;
  bool nullable = false;
};

/// For open(): the columns that come out.
inline void give_schema(const std::vector<made_column>& columns,
                        ArrowSchema* out) {
  using owned = owned_node<ArrowSchema>;
  const auto node = [](const made_column& of, std::unique_ptr<owned> own) {
    ArrowSchema made{};
    made.format = own->text(of.format);
    made.name = own->text(of.name);
    made.flags = of.nullable ? ARROW_FLAG_NULLABLE : 0;
    made.n_children = int64_t(own->children.size());
    made.children = own->children.data();
    made.release = owned::release;
    made.private_data = own.release();
    return made;
  };
  auto rows = std::make_unique<owned>();
  for (const made_column& one : columns)
    rows->adopt(node(one, std::make_unique<owned>()));
  *out = node({"", "+s", false}, std::move(rows));
}

/// A column of values without nulls, of a format with one buffer of them.
template <class Number>
ArrowArray column_of_numbers(const std::vector<Number>& values) {
  using owned = owned_node<ArrowArray>;
  auto own = std::make_unique<owned>();
  const auto* first = reinterpret_cast<const char*>(values.data());
  own->bytes.emplace_back(first, first + values.size() * sizeof(Number));
  own->buffers = {nullptr, own->bytes[0].data()};
  ArrowArray out{};
  out.length = int64_t(values.size());
  out.n_buffers = 2;
  out.buffers = own->buffers.data();
  out.release = owned::release;
  out.private_data = own.release();
  return out;
}

/// A column of texts without nulls, "u".
inline ArrowArray column_of_texts(const std::vector<std::string>& values) {
  std::vector<int32_t> ends{0};
  std::vector<char> text;
  for (const std::string& one : values) {
    if (text.size() + one.size() > size_t(INT32_MAX))
      throw std::length_error("more than 2 GiB of text in one batch");
    text.insert(text.end(), one.begin(), one.end());
    ends.push_back(int32_t(text.size()));
  }
  ArrowArray out = column_of_numbers(ends);
  auto* own = static_cast<owned_node<ArrowArray>*>(out.private_data);
  own->bytes.push_back(std::move(text));
  own->buffers = {nullptr, own->bytes[0].data(), own->bytes[1].data()};
  out.buffers = own->buffers.data();
  out.n_buffers = 3;
  out.length = int64_t(values.size());
  return out;
}

/// For apply(): the columns, which all have `rows` rows.
inline void give_rows(int64_t rows, const std::vector<ArrowArray>& columns,
                      ArrowArray* out) {
  using owned = owned_node<ArrowArray>;
  auto own = std::make_unique<owned>();
  for (const ArrowArray& one : columns)
    own->adopt(one);
  own->buffers = {nullptr};
  *out = {};
  out->length = rows;
  out->n_buffers = 1;
  out->buffers = own->buffers.data();
  out->n_children = int64_t(own->children.size());
  out->children = own->children.data();
  out->release = owned::release;
  out->private_data = own.release();
}

} // namespace ballast
