#include "data/source/flight_reader.hpp"

#include "data/base/rows_hash.hpp"
#include "data/source/database_place.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_file.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/util/uri.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

constexpr size_t locations_max = 64;
constexpr int attempts_at_all = 16;

std::string tries_text(int attempts) {
  return attempts > 1 ? " in " + std::to_string(attempts) + " attempts" : "";
}

std::string own_words(const flight_terms& terms, const flight_failure& why) {
  std::string out = without_password(why.what(), terms.access.secret);
  return without_password(std::move(out), basic_credentials(terms.access));
}

std::string credentials_advice(const flight_terms& terms) {
  return terms.access.secret.empty()
             ? "name the variable or file with the password or token in "
               "password_env or password_file"
             : "check the user in the URI, and the password or token in the "
               "variable or file that password_env or password_file names";
}

/// "host:port" of a location that a server named.
std::string host_of(const std::string& location) {
  arrow::util::Uri uri;
  if (!uri.Parse(location).ok())
    return printable(location, 100);
  return printable(uri.host() + ":" + uri.port_text(), 300);
}

bool is_grpc(const std::string& scheme) {
  return scheme == "grpc" || scheme == "grpc+tcp" || scheme == "grpc+tls";
}

[[noreturn]] void refuse_endpoint(const flight_terms& terms,
                                  const std::string& name, int64_t rows,
                                  const flight_failure& why, int attempts) {
  const std::string begin = name + ": ";
  const std::string words = own_words(terms, why);
  const std::string so_far =
      rows > 0 ? " after " + std::to_string(rows) + " rows" : "";
  switch (why.fault()) {
  case flight_fault::away:
  case flight_fault::late:
    throw ballast_error(errc::unreachable,
                        begin + "the rows do not come" + so_far +
                            tries_text(attempts) + ": " + words +
                            "; check that this server runs and can be reached "
                            "from here, and start again",
                        terms.pointer + "/uri");
  case flight_fault::denied:
    throw ballast_error(errc::invalid_data,
                        begin + "access is denied: " + words + "; " +
                            credentials_advice(terms),
                        terms.pointer + "/uri");
  // A server's words about its rows may quote them.
  case flight_fault::refused:
    throw source_error(begin + "the server does not take the ticket that " +
                           terms.place.name +
                           " gave; start again, and look at its log",
                       terms.statement_pointer, words);
  case flight_fault::wrong:
    throw source_error(begin + "what arrives" + so_far +
                           " is no sound Arrow data; look at that server",
                       terms.statement_pointer, words);
  case flight_fault::failed:
    break;
  }
  throw source_error(begin + "the server could not send the rows" + so_far +
                         tries_text(attempts) + "; look at its log",
                     terms.statement_pointer, words);
}

} // namespace

void refuse_flight(const flight_terms& terms, const flight_failure& why,
                   int attempts) {
  const std::string server = "the Flight server " + terms.place.name;
  const std::string words = own_words(terms, why);
  switch (why.fault()) {
  case flight_fault::away:
  case flight_fault::late:
    throw ballast_error(errc::unreachable,
                        terms.source + ": " + server + " cannot be reached" +
                            tries_text(attempts) + ": " + words +
                            "; check host and port in the URI, and that the "
                            "server runs",
                        terms.pointer + "/uri");
  case flight_fault::denied:
    throw ballast_error(errc::invalid_data,
                        terms.source + ": access to " + server +
                            " is denied: " + words + "; " +
                            credentials_advice(terms),
                        terms.pointer + "/uri");
  default:
    break;
  }
  throw ballast_error(errc::invalid_data,
                      terms.source + ": the Flight server refuses it: " + words,
                      terms.statement_pointer);
}

/// What of an endpoint was handed on.
struct flight_reader::delivery {
  rows_hash hash;
};

flight_reader::flight_reader(const flight_terms& terms,
                             const arrow::flight::FlightInfo& flight,
                             std::shared_ptr<arrow::Schema> told,
                             std::vector<int> chosen)
    : terms_(terms), flight_(flight), told_(std::move(told)),
      wanted_(std::move(chosen)) {
  if (told_ == nullptr)
    return;
  const std::shared_ptr<arrow::Schema> plain = plain_schema(told_);
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const int one : wanted_)
    fields.push_back(plain->field(one));
  given_ = arrow::schema(std::move(fields));
}

flight_reader::~flight_reader() = default;

void flight_reader::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (const auto& [location, one] : connections_)
    one->cancel();
  changed_.notify_all();
}

bool flight_reader::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void flight_reader::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return cancelled_; });
}

flight_connection& flight_reader::connection(const std::string& location) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = connections_.find(location);
        found != connections_.end())
      return *found->second;
  }
  auto made = std::make_unique<flight_connection>(location, terms_.access);
  const std::lock_guard lock(mutex_);
  if (cancelled_)
    made->cancel();
  return *(connections_[location] = std::move(made));
}

std::string flight_reader::name_of(size_t endpoint) const {
  return terms_.source + ": endpoint " + std::to_string(endpoint + 1) + " of " +
         std::to_string(flight_.endpoints().size());
}

/// Those that can be read here, in their order; none named: the server that was
/// asked.
std::vector<std::string> flight_reader::locations_of(size_t endpoint) const {
  const auto& named = flight_.endpoints()[endpoint].locations;
  std::vector<std::string> out;
  std::string left_out;
  for (size_t i = 0; i < std::min(named.size(), locations_max); ++i) {
    const std::string text = named[i].ToString();
    const std::string scheme = named[i].scheme();
    const bool plain = scheme == "grpc" || scheme == "grpc+tcp";
    if (named[i].Equals(arrow::flight::Location::ReuseConnection()))
      out.push_back(terms_.place.location);
    else if (is_grpc(scheme) &&
             !(plain && terms_.place.tls && !terms_.access.secret.empty()))
      out.push_back(text);
    else
      left_out += (left_out.empty() ? "" : ", ") + printable(text, 100);
  }
  if (named.empty())
    out.push_back(terms_.place.location);
  if (out.empty())
    throw ballast_error(
        errc::invalid_data,
        name_of(endpoint) + ": its rows are only at " + left_out +
            "; expected grpc:// or grpc+tls://, and of a source behind TLS "
            "with a password only the latter",
        terms_.statement_pointer);
  return out;
}

void flight_reader::check_columns(size_t endpoint,
                                  const arrow::Schema& sent) const {
  bool same = sent.num_fields() == told_->num_fields();
  for (int i = 0; same && i < sent.num_fields(); ++i)
    same = sent.field(i)->name() == told_->field(i)->name() &&
           sent.field(i)->type()->Equals(*told_->field(i)->type());
  if (same)
    return;
  constexpr size_t characters_max = 400;
  throw ballast_error(
      errc::invalid_data,
      name_of(endpoint) +
          ": sends other columns than the flight has; expected " +
          printable(told_->ToString(), characters_max) + ", found " +
          printable(sent.ToString(), characters_max),
      terms_.statement_pointer);
}

/// Hands on what `done` has not: its rows come first, and are compared.
void flight_reader::attempt(size_t endpoint, const std::string& location,
                            delivery& done, const taker& give) {
  const std::unique_ptr<flight_rows> rows =
      connection(location).rows(flight_.endpoints()[endpoint].ticket);
  check_columns(endpoint, *rows->schema());
  const chosen_columns columns(told_->num_fields(), wanted_);
  batch_pieces pieces;
  rows_hash again;
  const int64_t before = done.hash.rows();
  for (;;) {
    auto piece = pieces.next([&]() -> batch {
      const batch whole = rows->next();
      return whole == nullptr ? nullptr : columns.pick_of_all(whole);
    });
    if (!piece.ok())
      throw flight_failure(flight_fault::wrong, words_of(piece.status()));
    if (*piece == nullptr)
      break;
    batch out = arrow::RecordBatch::Make(given_, (*piece)->num_rows(),
                                         (*piece)->columns());
    const int64_t skipped = std::min(before - again.rows(), out->num_rows());
    if (skipped > 0) {
      again.update(*out->Slice(0, skipped));
      out = out->Slice(skipped);
      if (again.rows() == before && again.digest() != done.hash.digest())
        break;
    }
    if (out->num_rows() == 0)
      continue;
    done.hash.update(*out);
    if (!give(std::move(out)))
      return;
  }
  if (again.rows() < before || (before > 0 && done.hash.rows() == before &&
                                again.digest() != done.hash.digest()))
    throw ballast_error(errc::invalid_data,
                        name_of(endpoint) + " (" + host_of(location) +
                            "): the stream broke off after " +
                            std::to_string(before) +
                            " rows, and the server sends other rows when it is "
                            "asked again; start again when its data rest",
                        terms_.statement_pointer);
}

template <class Work>
void flight_reader::with_retries(size_t endpoint, const delivery& done,
                                 Work work) {
  const std::vector<std::string> locations = locations_of(endpoint);
  const int attempts =
      std::min(attempts_at_all,
               std::max(flight_attempts_max, int(2 * locations.size())));
  int spent = 0;
  for (int i = 0; !cancelled(); ++i) {
    const std::string& location = locations[size_t(i) % locations.size()];
    try {
      return work(location);
    } catch (const flight_failure& why) {
      if (cancelled())
        return;
      const bool elsewhere = i + 1 < int(locations.size());
      // Who was silent for so long is asked half as often.
      spent += why.fault() == flight_fault::late ? 2 : 1;
      if ((!why.may_pass() && !elsewhere) || spent >= attempts)
        refuse_endpoint(terms_,
                        name_of(endpoint) + " (" + host_of(location) + ")",
                        done.hash.rows(), why, i + 1);
    }
    // Once at each location, then after a while.
    if ((size_t(i) + 1) % locations.size() == 0)
      wait(terms_.retry_wait *
           (1 << std::min(size_t(i) / locations.size(), size_t{4})));
  }
}

std::shared_ptr<arrow::Schema> flight_reader::schema() {
  std::shared_ptr<arrow::Schema> out;
  with_retries(0, {}, [&](const std::string& location) {
    out = connection(location).rows(flight_.endpoints()[0].ticket)->schema();
  });
  return out;
}

void flight_reader::read(size_t endpoint, const taker& give) {
  delivery done;
  with_retries(endpoint, done, [&](const std::string& location) {
    attempt(endpoint, location, done, give);
  });
}

} // namespace ballast::data
