/// An exception that leaves a handler of an actor is a defect. CAF would end
/// the actor without a word, and everybody who waits for it would hang; here
/// the process is told why, so that it can end.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include <caf/all.hpp>

namespace ballast::actors {

/// "internal error in the coordinator: what()".
std::string handler_exception_text(const std::string& actor,
                                   const std::exception_ptr& thrown);

/// `leave` gets the text, on the actor's thread, and normally ends the
/// process; the actor itself ends when it returns. May be empty.
template <class Pointer>
void on_handler_exception(Pointer self, const std::string& actor,
                          std::function<void(const std::string&)> leave) {
  self->set_exception_handler(
      [actor, leave = std::move(leave)](std::exception_ptr& thrown) {
        if (leave)
          leave(handler_exception_text(actor, thrown));
        return caf::make_error(caf::sec::runtime_error);
      });
}

} // namespace ballast::actors
