#include "store/sqlite.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "store/refuse_file.hpp"

#include <cctype>
#include <cerrno>
#include <system_error>

namespace ballast::store::sqlite {

std::string uri_of(const std::filesystem::path& file, const char* query) {
  static const char* hex = "0123456789ABCDEF";
  std::string out = "file:";
  for (unsigned char c : std::filesystem::absolute(file).string()) {
    if (isalnum(c) || c == '/' || c == '-' || c == '_' || c == '.') {
      out += char(c);
    } else {
      out += '%';
      out += hex[c >> 4];
      out += hex[c & 15];
    }
  }
  return out + query;
}

connection::connection(const std::filesystem::path& file,
                       const std::string& uri, int flags)
    : file_(file) {
  int code =
      sqlite3_open_v2(uri.c_str(), &handle_,
                      flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    try {
      fail(code, "open");
    } catch (...) {
      sqlite3_close_v2(handle_);
      throw;
    }
  }
  sqlite3_busy_timeout(handle_, 5000);
}

connection::~connection() {
  sqlite3_close_v2(handle_);
}

void connection::run(const char* sql) {
  int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK)
    fail(code, "use");
}

void connection::fail(int code, const char* action) const {
  // SQLite calls only ENOSPC "full" and loses the number of other failed writes
  // (quota, size limit); errno still holds it.
  int error_number = errno;
  std::string what = std::string("cannot ") + action + " the journal " +
                     file_.string() + ": " +
                     (handle_ ? sqlite3_errmsg(handle_) : "out of memory");
  code = handle_ ? sqlite3_extended_errcode(handle_) : code;
  int primary = code & 0xff;
  // Opening a journal in WAL mode also creates and extends files beside it.
  bool of_file = code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE ||
                 code == SQLITE_IOERR_SHMOPEN || primary == SQLITE_CANTOPEN;
  if (primary == SQLITE_FULL || (of_file && means_disk_full(error_number)))
    throw ballast_error(errc::disk_full, what + "; make space");
  if (primary == SQLITE_MISUSE || primary == SQLITE_ERROR ||
      primary == SQLITE_CONSTRAINT)
    throw ballast_error(errc::internal, what);
  throw ballast_error(errc::run_dir_unusable, what);
}

void connection::before_commit() const {
  int fault = fault_point("journal.commit");
  if (fault != 0)
    throw ballast_error(means_disk_full(fault) ? errc::disk_full
                                               : errc::run_dir_unusable,
                        "cannot use the journal " + file_.string() + ": " +
                            std::generic_category().message(fault));
}

void connection::after_commit() const {
  (void)fault_point("journal.committed");
}

statement::statement(const connection& on, std::string_view sql) : on_(on) {
  int code = sqlite3_prepare_v2(on.handle(), sql.data(), int(sql.size()),
                                &handle_, nullptr);
  if (code != SQLITE_OK)
    on.fail(code, "read");
}

statement::~statement() {
  sqlite3_finalize(handle_);
}

statement& statement::bind(int parameter, uint64_t number) {
  sqlite3_bind_int64(handle_, parameter, sqlite3_int64(number));
  return *this;
}

statement& statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text(handle_, parameter, text.data(), int(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

statement& statement::bind_null(int parameter) {
  sqlite3_bind_null(handle_, parameter);
  return *this;
}

bool statement::step() {
  int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW)
    return true;
  int error_number = errno;
  sqlite3_reset(handle_);
  errno = error_number; // fail() reads it
  if (code != SQLITE_DONE)
    on_.fail(code, "use");
  return false;
}

int statement::run() {
  bool alone = sqlite3_get_autocommit(on_.handle()) != 0;
  if (alone)
    on_.before_commit();
  step();
  if (alone)
    on_.after_commit();
  return sqlite3_changes(on_.handle());
}

uint64_t statement::number(int column) const {
  return uint64_t(sqlite3_column_int64(handle_, column));
}

std::string statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_, column);
  auto size = size_t(sqlite3_column_bytes(handle_, column));
  return text ? std::string(reinterpret_cast<const char*>(text), size)
              : std::string();
}

bool statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

transaction::transaction(connection& on) : on_(on) {
  on_.run("BEGIN IMMEDIATE");
}

transaction::~transaction() {
  // After a full disk SQLite may have rolled back itself.
  if (open_ && sqlite3_get_autocommit(on_.handle()) == 0)
    sqlite3_exec(on_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void transaction::commit() {
  on_.before_commit();
  on_.run("COMMIT");
  open_ = false;
  on_.after_commit();
}

} // namespace ballast::store::sqlite
