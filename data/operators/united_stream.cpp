#include "data/operators/united_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/source/array_cells.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>

#include <algorithm>
#include <deque>
#include <utility>

namespace ballast::data {

namespace {

using batch_pointer = std::shared_ptr<arrow::RecordBatch>;
using type_pointer = std::shared_ptr<arrow::DataType>;

constexpr int64_t rows_together = 8192;

[[noreturn]] void refuse(const operator_context& context,
                         const std::string& why) {
  throw ballast_error(errc::invalid_data, context.pointer + "/from: " + why,
                      context.pointer + "/from");
}

/// The type that holds the values of both; null: there is none.
type_pointer type_for_both(const type_pointer& a, const type_pointer& b) {
  if (a->Equals(b))
    return a;
  if (a->id() == arrow::Type::NA)
    return b;
  if (b->id() == arrow::Type::NA)
    return a;
  const auto is_number = [](const arrow::DataType& type) {
    return arrow::is_integer(type.id()) || arrow::is_floating(type.id());
  };
  if (is_number(*a) && is_number(*b))
    return arrow::is_integer(a->id()) && arrow::is_integer(b->id())
               ? arrow::int64()
               : arrow::float64();
  return nullptr;
}

/// Inputs with the same columns: where each has them, as one type.
class alike_inputs {
public:
  alike_inputs(std::vector<named_stream> inputs,
               const operator_context& context)
      : inputs_(std::move(inputs)), context_(context) {
    arrow::FieldVector fields = inputs_[0].from->schema()->fields();
    for (const named_stream& one : inputs_) {
      const auto has = one.from->schema();
      for (const auto& field : has->fields())
        if (inputs_[0].from->schema()->GetFieldIndex(field->name()) < 0)
          refuse(context_, "'" + one.name + "' has a column '" +
                               printable(field->name()) + "', '" +
                               inputs_[0].name + "' has none; select those " +
                               "that both have");
      for (auto& field : fields)
        field = united(field, one, *has);
    }
    schema_ = arrow::schema(std::move(fields));
  }

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  size_t size() const { return inputs_.size(); }

  void choose(const std::vector<int>& columns) {
    arrow::FieldVector fields;
    for (int column : columns)
      fields.push_back(schema_->field(column));
    chosen_ = arrow::schema(std::move(fields));
    for (const named_stream& one : inputs_) {
      std::vector<int> read;
      for (const auto& field : chosen_->fields())
        read.push_back(one.from->schema()->GetFieldIndex(field->name()));
      one.from->choose(std::move(read));
    }
  }

  /// Null at the end of this input.
  batch_pointer next(size_t input) const {
    const batch_pointer rows = inputs_[input].from->next();
    if (rows == nullptr)
      return nullptr;
    arrow::ArrayVector out;
    for (int i = 0; i < rows->num_columns(); ++i) {
      const auto& field = *chosen_->field(i);
      out.push_back(
          rows->column(i)->type()->Equals(field.type())
              ? rows->column(i)
              : take_arrow(arrow::compute::Cast(*rows->column(i), field.type()),
                           errc::invalid_data,
                           inputs_[input].name + ": column '" +
                               printable(field.name()) + "'"));
    }
    return arrow::RecordBatch::Make(chosen_, rows->num_rows(), std::move(out));
  }

private:
  std::shared_ptr<arrow::Field> united(const std::shared_ptr<arrow::Field>& a,
                                       const named_stream& one,
                                       const arrow::Schema& has) const {
    const auto b = has.GetFieldByName(a->name());
    if (b == nullptr)
      refuse(context_, "'" + one.name + "' has no column '" +
                           printable(a->name()) + "', '" + inputs_[0].name +
                           "' has it; select those that both have");
    const type_pointer type = type_for_both(a->type(), b->type());
    if (type == nullptr)
      refuse(context_, "column '" + printable(a->name()) + "' has the type " +
                           a->type()->ToString() + " in '" + inputs_[0].name +
                           "' and " + b->type()->ToString() + " in '" +
                           one.name + "'; cast one of them");
    return arrow::field(a->name(), type);
  }

  std::vector<named_stream> inputs_;
  const operator_context& context_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> chosen_;
};

class concat_stream final : public operator_stream {
public:
  concat_stream(std::vector<named_stream> inputs, operator_context context)
      : operator_stream(std::move(context)),
        inputs_(std::move(inputs), this->context()) {
    set_schema(inputs_.schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    inputs_.choose(columns);
  }
  batch_pointer produce() override {
    for (; at_ < inputs_.size(); ++at_)
      if (batch_pointer rows = inputs_.next(at_))
        return rows;
    return nullptr;
  }

private:
  alike_inputs inputs_;
  size_t at_ = 0;
};

class mix_stream final : public operator_stream {
public:
  mix_stream(std::vector<named_stream> inputs, std::vector<double> weights,
             operator_context context)
      : operator_stream(std::move(context)),
        inputs_(std::move(inputs), this->context()),
        weights_(std::move(weights)), turns_(inputs_.size()) {
    weights_.resize(inputs_.size(), 1);
    set_schema(inputs_.schema());
  }

protected:
  void begin(const std::vector<int>& columns) override {
    inputs_.choose(columns);
  }

  batch_pointer produce() override {
    std::vector<batch_pointer> pieces;
    std::vector<int64_t> firsts; // of each piece in all of them together
    int64_t together = 0;
    arrow::Int64Builder rows;
    const auto begin_piece = [&](turn& one) {
      one.piece_first = together;
      pieces.push_back(one.rows->Slice(one.at));
      together += pieces.back()->num_rows();
      one.piece_begin = one.at;
    };
    for (turn& one : turns_)
      if (one.rows != nullptr && one.at < one.rows->num_rows())
        begin_piece(one);
    for (int64_t count = 0; count < rows_together; ++count) {
      const std::optional<size_t> chosen = next_input(begin_piece);
      if (!chosen)
        break;
      turn& one = turns_[*chosen];
      check_arrow(rows.Append(one.piece_first + one.at++ - one.piece_begin),
                  errc::device_failed, context().name);
    }
    if (rows.length() == 0)
      return nullptr;
    return taken(pieces, take_arrow(rows.Finish(), errc::device_failed, "mix"));
  }

private:
  struct turn {
    batch_pointer rows;
    int64_t at = 0; // the next one
    int64_t piece_first = 0;
    int64_t piece_begin = 0;
    double credit = 0;
    bool ended = false;
  };

  /// Whose turn it is, with a row to take; nothing if all have ended.
  template <class Begin>
  std::optional<size_t> next_input(Begin begin_piece) {
    while (true) {
      std::optional<size_t> best;
      double sum = 0;
      for (size_t i = 0; i < turns_.size(); ++i) {
        if (turns_[i].ended)
          continue;
        sum += weights_[i];
        if (!best || turns_[i].credit + weights_[i] >
                         turns_[*best].credit + weights_[*best])
          best = i;
      }
      if (!best)
        return std::nullopt;
      turn& one = turns_[*best];
      if (one.rows == nullptr || one.at == one.rows->num_rows()) {
        one.rows = inputs_.next(*best);
        one.at = 0;
        if (one.rows == nullptr) {
          one.ended = true;
          continue;
        }
        begin_piece(one);
      }
      for (size_t i = 0; i < turns_.size(); ++i)
        if (!turns_[i].ended)
          turns_[i].credit += weights_[i];
      one.credit -= sum;
      return best;
    }
  }

  batch_pointer taken(const std::vector<batch_pointer>& pieces,
                      const std::shared_ptr<arrow::Array>& rows) const {
    arrow::ArrayVector out;
    for (int i = 0; i < pieces[0]->num_columns(); ++i) {
      arrow::ArrayVector parts;
      for (const batch_pointer& piece : pieces)
        parts.push_back(piece->column(i));
      const auto all = take_arrow(arrow::Concatenate(parts),
                                  errc::device_failed, context().name);
      out.push_back(take_arrow(arrow::compute::Take(*all, *rows),
                               errc::device_failed, context().name));
    }
    return arrow::RecordBatch::Make(pieces[0]->schema(), rows->length(),
                                    std::move(out));
  }

  alike_inputs inputs_;
  std::vector<double> weights_;
  std::vector<turn> turns_;
};

class zip_stream final : public operator_stream {
public:
  zip_stream(std::vector<named_stream> inputs, operator_context context)
      : operator_stream(std::move(context)) {
    arrow::FieldVector fields;
    std::shared_ptr<arrow::Field> origin;
    for (size_t i = 0; i < inputs.size(); ++i) {
      sides_.push_back({std::move(inputs[i])});
      const auto has = sides_[i].in.from->schema();
      for (int column = 0; column < has->num_fields(); ++column) {
        const auto& field = has->field(column);
        if (field->name() == origin_column) {
          origin = field;
          continue;
        }
        for (size_t other = 0; other < fields.size(); ++other)
          if (fields[other]->name() == field->name())
            refuse(this->context(),
                   "'" + sides_[places_[other].input].in.name + "' and '" +
                       sides_[i].in.name + "' both have a column '" +
                       printable(field->name()) + "'; rename one of them");
        fields.push_back(field);
        places_.push_back({i, column});
      }
    }
    places_.push_back({0, sides_[0].in.from->schema()->num_fields() - 1});
    fields.push_back(origin);
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<std::vector<int>> read(sides_.size());
    for (int column : columns) {
      const place& from = places_[size_t(column)];
      wanted_.push_back({from.input, int(read[from.input].size())});
      read[from.input].push_back(from.column);
    }
    for (size_t i = 0; i < sides_.size(); ++i) {
      if (read[i].empty()) // its rows count
        read[i].push_back(sides_[i].in.from->schema()->num_fields() - 1);
      sides_[i].in.from->choose(read[i]);
    }
  }

  batch_pointer produce() override {
    int64_t count = 0;
    for (side& one : sides_) {
      if (one.rows == nullptr || one.at == one.rows->num_rows()) {
        one.rows = one.in.from->next();
        one.at = 0;
      }
      const int64_t left = one.rows ? one.rows->num_rows() - one.at : 0;
      count = &one == &sides_[0] ? left : std::min(count, left);
    }
    if (count == 0) {
      check_ended();
      return nullptr;
    }
    arrow::ArrayVector out;
    arrow::FieldVector fields;
    for (const place& one : wanted_) {
      const side& from = sides_[one.input];
      out.push_back(from.rows->column(one.column)->Slice(from.at, count));
      fields.push_back(arrow::field("", out.back()->type()));
    }
    for (side& one : sides_)
      one.at += count;
    rows_ += uint64_t(count);
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), count,
                                    std::move(out));
  }

private:
  struct side {
    named_stream in;
    batch_pointer rows = nullptr;
    int64_t at = 0;
  };
  struct place {
    size_t input = 0;
    int column = 0;
  };

  void check_ended() const {
    std::string ended;
    std::string goes_on;
    for (const side& one : sides_)
      (one.rows == nullptr ? ended : goes_on) = one.in.name;
    if (!ended.empty() && !goes_on.empty())
      refuse(context(), "'" + ended + "' ends after " + std::to_string(rows_) +
                            " rows, '" + goes_on +
                            "' has more; expected equally many");
  }

  std::vector<place> places_; // by column of the schema
  std::vector<side> sides_;
  std::vector<place> wanted_; // by column that is produced
  uint64_t rows_ = 0;
};

} // namespace

stream_pointer concat_rows(std::vector<named_stream> inputs,
                           operator_context context) {
  return std::make_unique<concat_stream>(std::move(inputs), std::move(context));
}

stream_pointer zip_rows(std::vector<named_stream> inputs,
                        operator_context context) {
  return std::make_unique<zip_stream>(std::move(inputs), std::move(context));
}

stream_pointer mix_rows(std::vector<named_stream> inputs,
                        std::vector<double> weights, operator_context context) {
  return std::make_unique<mix_stream>(std::move(inputs), std::move(weights),
                                      std::move(context));
}

} // namespace ballast::data
