/// Errors of a database in the words of a job: what a driver said becomes a
/// ballast_error that names the source, the server's message and its place in
/// the query. Pure, but for while_watched. Any thread.
///
/// A server's message may quote rows: only those about the query itself go into
/// the message, the others into the detail.
#pragma once

#include "data/source/adbc_session.hpp"
#include "store/work_watch.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <string>

namespace ballast::data {

/// What all parts of a stream need to know about it.
struct database_context {
  std::string source;            // "query on HOST/DATABASE"
  std::string place;             // HOST/DATABASE
  std::string pointer;           // of the source
  std::string statement_pointer; // of query or table
  std::string query;             // as the user wrote it; empty for a table
  std::string password;          // only to keep it out of messages
  store::work_watch stop;
};

/// That the server ended the connection, or the network did.
bool is_lost(const adbc_failure& failure);
/// That another attempt to connect may succeed: nobody answered, or the server
/// is starting or full.
bool may_connect_later(const adbc_failure& failure);

/// After the last attempt to connect.
[[noreturn]] void refuse_connection(const database_context& context,
                                    const adbc_failure& failure, int attempts);
/// While a query is prepared or read, of which `rows` rows had come.
[[noreturn]] void refuse_answer(const database_context& context,
                                const adbc_failure& failure, uint64_t rows);

/// Does `work` in a thread of its own. Once the stream is to stop, `cancel` is
/// called until that thread is back, and ballast_error{stopped} thrown.
void while_watched(const store::work_watch& stop,
                   const std::function<void()>& cancel,
                   const std::function<void()>& work);

} // namespace ballast::data
