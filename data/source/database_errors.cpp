#include "data/source/database_errors.hpp"

#include "data/source/database_place.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/thread_name.hpp"

namespace ballast::data {

namespace {

constexpr size_t message_characters_max = 600;
constexpr std::chrono::milliseconds look_every{50};

bool holds(const adbc_failure& failure, std::string_view text) {
  return failure.said().message.find(text) != std::string::npos;
}

// In one line, without what drivers put around it.
std::string server_words(const database_context& context,
                         const adbc_failure& failure) {
  std::string text = failure.said().message;
  for (const char* tail : {"\nquery: ", "\nQuery was: "})
    text = text.substr(0, text.find(tail));
  std::string out;
  for (const char c : without_password(std::move(text), context.password))
    if (c != '\n' && c != '\t')
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return printable(out, message_characters_max);
}

std::string state_of(const adbc_failure& failure) {
  return failure.said().sqlstate.empty()
             ? ""
             : " (SQLSTATE " + printable(failure.said().sqlstate) + ")";
}

// ", at line 2, column 7": by the count of characters that PostgreSQL gives.
std::string spot_in(const std::string& query, uint64_t position) {
  uint64_t line = 1;
  uint64_t column = 0;
  uint64_t seen = 0;
  for (const char c : query) {
    if ((c & 0xC0) == 0x80) // within a character
      continue;
    ++column;
    if (++seen == position)
      return ", at line " + std::to_string(line) + ", column " +
             std::to_string(column) + " of the query";
    if (c == '\n') {
      ++line;
      column = 0;
    }
  }
  return ", at the end of the query";
}

} // namespace

bool is_lost(const adbc_failure& failure) {
  return failure.is("08") || failure.is("57P0") ||
         holds(failure, "server closed the connection") ||
         holds(failure, "no connection to the server") ||
         holds(failure, "connection to server was lost") ||
         holds(failure, "could not receive data from server") ||
         holds(failure, "SSL connection has been closed") ||
         holds(failure, "SSL SYSCALL error") ||
         holds(failure, "terminating connection");
}

bool may_connect_later(const adbc_failure& failure) {
  // libpq gives no SQLSTATE here; the server's refusals begin with FATAL in
  // every language.
  if (holds(failure, "starting up") || holds(failure, "too many") ||
      holds(failure, "shutting down") || holds(failure, "remaining connection"))
    return true;
  if (holds(failure, "could not translate host name"))
    return true;
  return holds(failure, "connection to server") && !holds(failure, "FATAL") &&
         !holds(failure, "password") && !holds(failure, "authentication") &&
         !holds(failure, "certificate");
}

void refuse_connection(const database_context& context,
                       const adbc_failure& failure, int attempts) {
  const std::string tries =
      attempts > 1 ? " in " + std::to_string(attempts) + " attempts" : "";
  const bool password =
      holds(failure, "password") || holds(failure, "authentication");
  throw ballast_error(
      errc::unreachable,
      "cannot connect to the database " + context.place + tries + ": " +
          server_words(context, failure) + "; " +
          (password ? "check the user in the URI, and the password in the "
                      "variable or file that password_env or password_file "
                      "names"
                    : "check the URI, and that the server runs and lets this "
                      "host in"),
      context.pointer + "/uri");
}

void refuse_answer(const database_context& context, const adbc_failure& failure,
                   uint64_t rows) {
  if (context.stop.stop_requested())
    throw ballast_error(errc::stopped,
                        "stopped while the data were being prepared");
  if (is_lost(failure))
    throw ballast_error(
        errc::unreachable,
        context.source + ": the connection to the database was lost after " +
            std::to_string(rows) + " rows: " + server_words(context, failure) +
            "; the rows of one moment cannot be continued: read them again",
        context.pointer + "/uri");
  const std::string words = server_words(context, failure);
  const std::string hint =
      failure.said().hint.empty() ? "" : "; " + printable(failure.said().hint);
  // About the query: nothing of the rows is in it.
  if (rows == 0 && (failure.said().sqlstate.empty() || failure.is("42")))
    throw ballast_error(
        errc::invalid_data,
        context.source + ": the database refuses it: " + words +
            state_of(failure) +
            (failure.said().position && !context.query.empty()
                 ? spot_in(context.query, *failure.said().position)
                 : "") +
            hint,
        context.statement_pointer);
  // Rows on their way are not counted: no driver tells which one it was.
  throw source_error(
      context.source + ": the database could not compute a row " +
          (rows == 0 ? "of it" : "after row " + std::to_string(rows)) +
          state_of(failure) + "; correct the data, or the query",
      context.statement_pointer, words + hint);
}

void while_watched(const store::work_watch& stop,
                   const std::function<void()>& cancel,
                   const std::function<void()>& work) {
  store::check_stop(stop);
  std::future<void> done = std::async(std::launch::async, [&work] {
    name_this_thread("bl-sql");
    work();
  });
  bool stopped = false;
  while (done.wait_for(look_every) != std::future_status::ready) {
    stop.note_check();
    // Again and again: the work may not have asked the server yet.
    stopped = stopped || stop.stop_requested();
    if (stopped && cancel)
      cancel();
  }
  if (stopped) {
    try {
      done.get();
    } catch (...) { // the cancelled query's own failure
    }
    store::check_stop(stop);
  }
  done.get();
}

} // namespace ballast::data
