#include "data/fitting/number_operator.hpp"

namespace ballast::data {

class bound_numbers final : public bound_operator {
public:
  bound_numbers(const number_operator& what,
                std::shared_ptr<const fitted_state> state)
      : what_(what), state_(std::move(state)) {}

  made_rows apply(const given_rows& rows) override {
    made_rows out;
    for (size_t i = 0; i < rows.columns.size(); ++i) {
      const learned_column& column = state_->columns[i];
      const number_column numbers(rows.columns[i]);
      check_numbers(numbers, what_.owner_of(column), rows.place);
      out.columns.push_back(
          what_.made_of(numbers.values(), column, rows.place));
    }
    return out;
  }

private:
  const number_operator& what_;
  const std::shared_ptr<const fitted_state> state_;
};

std::unique_ptr<bound_operator>
number_operator::bind(std::shared_ptr<const fitted_state> state) const {
  return std::make_unique<bound_numbers>(*this, std::move(state));
}

} // namespace ballast::data
