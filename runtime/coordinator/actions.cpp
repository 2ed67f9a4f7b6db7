#include "runtime/coordinator/actions.hpp"

namespace ballast::coordinator {

action::action(const action& other) = default;
action::action(action&& other) noexcept = default;
action& action::operator=(const action& other) = default;
action& action::operator=(action&& other) noexcept = default;
action::~action() = default;

} // namespace ballast::coordinator
