#include "data/operators/check_stream.hpp"

#include "data/operators/column_check.hpp"
#include "data/operators/operator_input.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/source/bad_rows.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

using graph::check_action;

class check_stream final : public operator_stream {
public:
  check_stream(stream_pointer from, std::vector<graph::check_rule> rules,
               operator_context context)
      : operator_stream(std::move(context)),
        in_(std::move(from), this->context()) {
    const arrow::Schema& input = *in_.schema();
    arrow::FieldVector fields = input.fields();
    const auto origin = fields.back();
    fields.pop_back();
    for (graph::check_rule& one : rules) {
      const int at = find_column(
          input, one.column, this->context().pointer + "/rules/" + one.column);
      checks_.emplace_back(std::move(one), input.field(at)->type(),
                           this->context().pointer);
      columns_.push_back(at);
      const graph::check_rule& rule = checks_.back().rule();
      fields[size_t(at)] = arrow::field(rule.column, checks_.back().type());
      removes_ = removes_ || rule.then == check_action::remove;
    }
    add_marks(fields);
    fields.push_back(origin);
    if (removes_)
      will_remove(this->context());
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    std::vector<int> read = with_keys({}, columns_, checked_at_);
    std::vector<int> place;
    arrow::FieldVector fields;
    const int last = schema()->num_fields() - 1;
    for (int column : columns) {
      fields.push_back(schema()->field(column));
      // Marks lie between the columns that came in and the origin.
      const int input =
          column == last ? in_.schema()->num_fields() - 1 : column;
      if (column < last && column >= in_.schema()->num_fields() - 1) {
        wanted_.push_back(
            {-1, marks_[size_t(column + 1 - in_.schema()->num_fields())]});
        continue;
      }
      read = with_keys(std::move(read), {input}, place);
      wanted_.push_back({place[0], 0});
      if (column == last)
        origin_at_ = place[0];
    }
    wanted_schema_ = arrow::schema(std::move(fields));
    in_.choose(read);
  }

  std::shared_ptr<arrow::RecordBatch> produce() override {
    while (const std::shared_ptr<arrow::RecordBatch> rows = in_.next()) {
      auto out = checked(*rows);
      if (out->num_rows() > 0)
        return out;
    }
    return nullptr;
  }

private:
  void add_marks(arrow::FieldVector& fields) {
    for (size_t i = 0; i < checks_.size(); ++i) {
      const graph::check_rule& rule = checks_[i].rule();
      if (rule.then != check_action::mark)
        continue;
      const std::string name = rule.column + "_invalid";
      if (std::any_of(fields.begin(), fields.end(),
                      [&](const auto& field) { return field->name() == name; }))
        throw ballast_error(errc::invalid_data,
                            context().pointer + "/rules/" +
                                printable(rule.column) +
                                ": two columns would be '" + printable(name) +
                                "'; \"rename\" the one that is there",
                            context().pointer + "/rules/" + rule.column);
      fields.push_back(arrow::field(name, arrow::uint8()));
      marks_.push_back(i);
    }
  }

  std::shared_ptr<arrow::RecordBatch> checked(const arrow::RecordBatch& rows) {
    std::vector<column_check::checked> found;
    std::vector<bad_row> gone;
    for (size_t i = 0; i < checks_.size(); ++i) {
      found.push_back(checks_[i].check(rows.column(checked_at_[i])));
      if (checks_[i].rule().then == check_action::remove)
        add_broken(found[i].broken, checks_[i], gone);
    }
    put_in_order(gone);
    tell_removed(context(), rows, origin_at_, gone);
    arrow::ArrayVector out;
    for (const auto& [read, mark] : wanted_) {
      if (read < 0) {
        out.push_back(flags(found[mark].broken));
        continue;
      }
      const auto at = std::find(checked_at_.begin(), checked_at_.end(), read);
      out.push_back(at == checked_at_.end()
                        ? rows.column(read)
                        : found[size_t(at - checked_at_.begin())].values);
    }
    auto all = arrow::RecordBatch::Make(wanted_schema_, rows.num_rows(),
                                        std::move(out));
    return gone.empty() ? all : without_rows(all, gone).batch;
  }

  static void add_broken(const std::vector<uint8_t>& broken,
                         const column_check& by, std::vector<bad_row>& to) {
    for (size_t row = 0; row < broken.size(); ++row)
      if (broken[row] != 0)
        to.push_back(
            {int64_t(row), by.rule().column, by.reason(broken[row]), {}});
  }

  static std::shared_ptr<arrow::Array>
  flags(const std::vector<uint8_t>& broken) {
    std::vector<uint8_t> out(broken.size());
    std::transform(broken.begin(), broken.end(), out.begin(),
                   [](uint8_t part) { return part != 0 ? 1 : 0; });
    const auto rows = int64_t(out.size());
    return std::make_shared<arrow::UInt8Array>(
        rows, arrow::Buffer::FromVector(std::move(out)));
  }

  operator_input in_;
  std::vector<column_check> checks_;
  std::vector<int> columns_;    // by rule, of the input
  std::vector<int> checked_at_; // by rule, of what is read
  std::vector<size_t> marks_;   // rules that mark, in order
  bool removes_ = false;
  int origin_at_ = 0; // of what is read
  /// Of what is read, or the rule whose mark it is.
  std::vector<std::pair<int, size_t>> wanted_;
  std::shared_ptr<arrow::Schema> wanted_schema_;
};

} // namespace

stream_pointer checked_rows(stream_pointer from,
                            std::vector<graph::check_rule> rules,
                            operator_context context) {
  return std::make_unique<check_stream>(std::move(from), std::move(rules),
                                        std::move(context));
}

} // namespace ballast::data
