/// PostgreSQL's own client library, opened when a job reads such a database for
/// the first time and never closed. Nothing links it, so a program without it
/// starts, and reads by the driver of ADBC. The functions and numbers are those
/// that its soname 5 promises. Any thread.
#pragma once

namespace ballast::data {

struct PGconn;
struct PGresult;
struct PGcancel;

struct libpq {
  static constexpr int connection_ok = 0;
  static constexpr int command_ok = 1;
  static constexpr int tuples_ok = 2;
  static constexpr int copy_out = 3;
  // Fields of an error.
  static constexpr int sqlstate = 'C';
  static constexpr int message = 'M';
  static constexpr int detail = 'D';
  static constexpr int hint = 'H';
  static constexpr int position = 'P';

  PGconn* (*connect)(const char* uri);
  int (*status)(const PGconn*);
  void (*finish)(PGconn*);
  char* (*error_message)(const PGconn*);
  using notice_receiver = void (*)(void*, const PGresult*);
  notice_receiver (*set_notice_receiver)(PGconn*, notice_receiver, void*);
  PGresult* (*execute)(PGconn*, const char* sql);
  PGresult* (*next_result)(PGconn*);
  int (*get_copy_data)(PGconn*, char** row, int async);
  void (*free_memory)(void*);
  int (*result_status)(const PGresult*);
  char* (*result_field)(const PGresult*, int field);
  char* (*result_message)(const PGresult*);
  int (*row_count)(const PGresult*);
  int (*field_count)(const PGresult*);
  int (*is_null)(const PGresult*, int row, int column);
  char* (*value)(const PGresult*, int row, int column);
  int (*length)(const PGresult*, int row, int column);
  void (*clear)(PGresult*);
  PGcancel* (*get_cancel)(PGconn*);
  int (*cancel)(PGcancel*, char* why, int why_size);
  void (*free_cancel)(PGcancel*);
};

/// Of this machine; null where it is not installed.
const libpq* libpq_here();

/// Of a file of this name; null if it cannot be opened or has not all of them.
const libpq* open_libpq(const char* file);

} // namespace ballast::data
