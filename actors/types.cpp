#include "actors/types.hpp"

namespace ballast::actors {

system_config::system_config() {
  add_message_types<caf::id_block::ballast>();
  // A handle travels in hello; its type is made of the types above.
  add_message_type<gpu_worker_actor>("gpu_worker_actor");
  load<caf::io::middleman>();
  // A handful of small actors; the work is done on threads of their own.
  // Their threads sleep until there is work: the default policy steals, and
  // looks for something to steal 6,000 times a second while messages come now
  // and then.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", 2);
  set("logger.verbosity", caf::atom("quiet"));
}

caf::error to_error(const failure& what) {
  return {uint8_t(what.code), caf::atom("ballast"),
          caf::make_message(what.message, what.pointer)};
}

caf::error to_error(const failure& what, const std::string& detail) {
  return {uint8_t(what.code), caf::atom("ballast"),
          caf::make_message(what.message, what.pointer, detail)};
}

std::string detail_of(const caf::error& what) {
  const caf::message& context = what.context();
  return context.match_elements<std::string, std::string, std::string>()
             ? context.get_as<std::string>(2)
             : std::string();
}

failure to_failure(const caf::error& what) {
  failure out{errc::internal, {}, {}};
  if (what.category() == caf::atom("ballast")) {
    out.code = errc(what.code());
    const caf::message& context = what.context();
    if (context.match_elements<std::string, std::string>() ||
        context.match_elements<std::string, std::string, std::string>()) {
      out.message = context.get_as<std::string>(0);
      out.pointer = context.get_as<std::string>(1);
    }
  } else {
    out.message = "an actor did not answer: " + to_string(what.category()) +
                  " error " + std::to_string(what.code());
    if (what.category() == caf::atom("system")) {
      out.code = errc::unreachable;
      const auto why = caf::sec(what.code());
      out.message =
          why == caf::sec::request_timeout
              ? "no answer in time: the process is busy, or waits for room on "
                "its disk (`ballast ctl status` tells); what was asked for may "
                "still be done"
              : "an actor did not answer: " + to_string(why);
    }
  }
  return out;
}

} // namespace ballast::actors
