/// Operators of your own in a data graph: what a library exports, so that a
/// node {"op": "map", "library": "libmine.so", "function": "name"} calls it.
///
/// Plain C, and all that there is to include: rows cross this border in the
/// Arrow C data interface (https://arrow.apache.org/docs/format/
/// CDataInterface.html), which does not change and which every Arrow library,
/// nanoarrow or some lines of your own speak. operator.hpp beside it makes it
/// convenient in C++. Nothing has to be linked:
///
///   g++ -O2 -shared -fPIC -I BALLAST/include mine.cpp -o libmine.so
///
/// The library runs inside of the process that prepares the data: what it
/// breaks there is broken, and a crash of it is one of that process. What comes
/// out of it is checked before it is used; what it writes where, is not.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Of this file. A library of another version is refused, and says so.
#define BALLAST_OPERATOR_ABI 1

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

// The type of a column, or of rows: a struct with a child for each column.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

// Its values.
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif

// What is wrong, for the user; all of it is zero, and `row` -1, before a call.
struct ballast_operator_error {
  int64_t row;      // of the batch that was given, from 0; -1: of no one row
  char column[256]; // its name; empty: of no one column
  char text[1024];  // one line: what was expected, what was found
};

// flags of an operator
//
// apply() may be called by several threads at once, with the same stream. The
// rows come out in the order in which they went in, all the same.
#define BALLAST_OPERATOR_CONCURRENT 1

// The calls return 0, or another number with `error` filled; then nothing that
// they should have given is looked at but released. An exception that a call
// throws is taken for its error. All texts are UTF-8 and end with a zero.
struct ballast_operator {
  const char* name; // that the job's "function" says
  uint64_t flags;

  // Begins a stream: `options` is the JSON object of the job, "{}" where it
  // says none; `input` are the columns that every batch will have. Fills
  // `output` with the columns that come out, a struct (format "+s") with a
  // child for each, whose flags say whether there may be nulls; and
  // `stream` with a state of its own, which may be null. `input` is the
  // caller's and ends with the call; `output` is the caller's from then on.
  //
  // Streams are opened, too, only to ask for their columns: when a job is
  // validated or shown.
  int32_t (*open)(const char* options, const struct ArrowSchema* input,
                  struct ArrowSchema* output, void** stream,
                  struct ballast_operator_error* error);

  // Of some rows, in order, what comes out. `rows` is a struct without nulls
  // and with offset 0, whose children may have an offset; it is the caller's
  // and ends with the call. `output` has the columns that open() named, and as
  // many rows as there are, at most 16,777,216. `from` says of each of these
  // of which row of `rows` it was made, from 0: a column of int64 (format "l")
  // without nulls. Left as it is, it says that each row gave one, in order.
  //
  // Where a batch ends is chance. What comes out must not depend on it, or
  // other rows come out on another machine.
  int32_t (*apply)(void* stream, const struct ArrowArray* rows,
                   struct ArrowArray* output, struct ArrowArray* from,
                   struct ballast_operator_error* error);

  // Ends what open() began, also where apply() failed. May be null.
  void (*close)(void* stream);
};

// What the library exports under the name `ballast_operators`. A later version
// adds at the end of an operator, whose size is therefore said.
struct ballast_operator_library {
  uint32_t abi;            // BALLAST_OPERATOR_ABI
  uint32_t operator_bytes; // sizeof(struct ballast_operator)
  uint64_t count;
  const struct ballast_operator* operators;
};

#define BALLAST_OPERATORS_SYMBOL "ballast_operators"
// Once in a library, with a list of its operators:
//   static const struct ballast_operator mine[] = {
//       {"name", 0, open, apply, close}};
//   BALLAST_OPERATORS(mine)
#define BALLAST_OPERATORS(list)                                                \
  BALLAST_OPERATORS_LINKAGE                                                    \
  __attribute__((visibility("default"))) const struct ballast_operator_library \
      ballast_operators = {BALLAST_OPERATOR_ABI,                               \
                           sizeof(struct ballast_operator),                    \
                           sizeof(list) / sizeof((list)[0]), list};
#ifdef __cplusplus
#define BALLAST_OPERATORS_LINKAGE extern "C"
#else
#define BALLAST_OPERATORS_LINKAGE
#endif

#ifdef __cplusplus
}
#endif
