// What map_stream_test.cpp loads: operators that do what they should, and one
// that does wrong whatever its options say.
#include <ballast/operator.hpp>

#include <atomic>

namespace {

using ballast::guarded;

bool says(const char* options, const std::string& word) {
  return std::string(options).find("\"" + word + "\"") != std::string::npos;
}

// -- twice: y = 2 x, of every row one -----------------------------------------

int32_t open_twice(const char* /*options*/, const ArrowSchema* input,
                   ArrowSchema* output, void** stream,
                   ballast_operator_error* error) {
  return guarded(error, [&] {
    *stream = new int64_t(ballast::column_of(input, "x", "l"));
    ballast::give_schema({{"y", "l"}}, output);
  });
}

int32_t apply_twice(void* stream, const ArrowArray* rows, ArrowArray* output,
                    ArrowArray* /*from*/, ballast_operator_error* error) {
  return guarded(error, [&] {
    const ArrowArray& x = *rows->children[*static_cast<int64_t*>(stream)];
    std::vector<int64_t> y;
    for (int64_t i = 0; i < rows->length; ++i) {
      if (ballast::is_null(x, i))
        throw ballast::wrong_value("x", "expected a number", i);
      y.push_back(2 * ballast::numbers_in<int64_t>(x)[i]);
    }
    ballast::give_rows(rows->length, {ballast::column_of_numbers(y)}, output);
  });
}

void close_number(void* stream) {
  delete static_cast<int64_t*>(stream);
}

// -- spread: x mod 4 rows of each, by several threads at once -----------------

int32_t apply_spread(void* stream, const ArrowArray* rows, ArrowArray* output,
                     ArrowArray* from, ballast_operator_error* error) {
  return guarded(error, [&] {
    const ArrowArray& x = *rows->children[*static_cast<int64_t*>(stream)];
    std::vector<int64_t> part;
    std::vector<int64_t> origins;
    for (int64_t i = 0; i < rows->length; ++i) {
      const int64_t number = ballast::numbers_in<int64_t>(x)[i];
      if (number < 0)
        throw ballast::wrong_value("x", "expected no negative number", i);
      for (int64_t k = 0; k < number % 4; ++k) {
        part.push_back(k);
        origins.push_back(i);
      }
    }
    ballast::give_rows(int64_t(part.size()), {ballast::column_of_numbers(part)},
                       output);
    *from = ballast::column_of_numbers(origins);
  });
}

// -- count: a state of its own ------------------------------------------------

int32_t open_count(const char* /*options*/, const ArrowSchema* /*input*/,
                   ArrowSchema* output, void** stream,
                   ballast_operator_error* error) {
  return guarded(error, [&] {
    *stream = new int64_t(0);
    ballast::give_schema({{"row", "l"}}, output);
  });
}

int32_t apply_count(void* stream, const ArrowArray* rows, ArrowArray* output,
                    ArrowArray* /*from*/, ballast_operator_error* error) {
  return guarded(error, [&] {
    std::vector<int64_t> numbers;
    while (int64_t(numbers.size()) < rows->length)
      numbers.push_back((*static_cast<int64_t*>(stream))++);
    ballast::give_rows(rows->length, {ballast::column_of_numbers(numbers)},
                       output);
  });
}

// -- told: its options and the columns that it was given, as text -------------

int32_t open_told(const char* options, const ArrowSchema* input,
                  ArrowSchema* output, void** stream,
                  ballast_operator_error* error) {
  return guarded(error, [&] {
    auto told = std::make_unique<std::string>(options);
    for (int64_t i = 0; i < input->n_children; ++i)
      *told += std::string(" ") + input->children[i]->name;
    ballast::give_schema({{"told", "u"}}, output);
    *stream = told.release();
  });
}

int32_t apply_told(void* stream, const ArrowArray* rows, ArrowArray* output,
                   ArrowArray* /*from*/, ballast_operator_error* error) {
  return guarded(error, [&] {
    const std::vector<std::string> all(size_t(rows->length),
                                       *static_cast<std::string*>(stream));
    ballast::give_rows(rows->length, {ballast::column_of_texts(all)}, output);
  });
}

void close_told(void* stream) {
  delete static_cast<std::string*>(stream);
}

// -- broken: as its options say -----------------------------------------------

std::atomic<int> opened{0};

int32_t open_broken(const char* options, const ArrowSchema* /*input*/,
                    ArrowSchema* output, void** stream,
                    ballast_operator_error* error) {
  if (says(options, "open_throws"))
    throw std::runtime_error("no\nway");
  if (says(options, "open_refuses")) {
    std::memset(error->text, 'a', sizeof error->text); // without its end
    return 3;
  }
  ++opened;
  *stream = new std::string(options);
  if (says(options, "open_gives_nothing"))
    return 0;
  if (says(options, "open_types"))
    ballast::give_schema({{"t", "vu"}}, output);
  else if (says(options, "open_no_type"))
    ballast::give_schema({{"t", "?"}}, output);
  else if (says(options, "open_two"))
    ballast::give_schema({{"t", "u"}, {"t", "u"}}, output);
  else if (says(options, "open_origin"))
    ballast::give_schema({{"__origin", "L"}}, output);
  else
    ballast::give_schema({{"t", "u"}}, output);
  return 0;
}

void damage(const std::string& how, ArrowArray* output, ArrowArray* from) {
  ArrowArray& texts = *output->children[0];
  auto* ends = static_cast<int32_t*>(const_cast<void*>(texts.buffers[1]));
  auto* text = static_cast<char*>(const_cast<void*>(texts.buffers[2]));
  if (says(how.c_str(), "offsets"))
    ends[1] = 1000;
  if (says(how.c_str(), "utf8"))
    text[0] = '\xff';
  if (says(how.c_str(), "lengths"))
    output->length = -1;
  if (says(how.c_str(), "short"))
    --texts.length;
  if (says(how.c_str(), "columns"))
    output->n_children = 0;
  if (says(how.c_str(), "many"))
    output->length = texts.length = int64_t(1) << 25;
  if (says(how.c_str(), "missing")) {
    static const uint8_t valid[2] = {0xfd, 0xff}; // all but the second
    texts.buffers[0] = valid;
    texts.null_count = 1;
  }
  if (says(how.c_str(), "from_far"))
    *from = ballast::column_of_numbers(std::vector<int64_t>{0, 0, 0, 0, 9});
  if (says(how.c_str(), "from_short"))
    *from = ballast::column_of_numbers(std::vector<int64_t>{0});
}

int32_t apply_broken(void* stream, const ArrowArray* rows, ArrowArray* output,
                     ArrowArray* from, ballast_operator_error* error) {
  const std::string& how = *static_cast<std::string*>(stream);
  if (says(how.c_str(), "throws"))
    throw std::runtime_error("out of luck");
  if (says(how.c_str(), "throws_odd"))
    throw 7;
  if (says(how.c_str(), "refuses"))
    return guarded(error, [] {
      throw ballast::wrong_value("x", "expected\nsomething else", 1);
    });
  if (says(how.c_str(), "refuses_far"))
    return guarded(error,
                   [] { throw ballast::wrong_value("", "no", 1 << 20); });
  if (says(how.c_str(), "nothing"))
    return 0;
  const size_t count = says(how.c_str(), "fewer") ? 1 : size_t(rows->length);
  ballast::give_rows(
      int64_t(count),
      {ballast::column_of_texts(std::vector<std::string>(count, "abc"))},
      output);
  damage(how, output, from);
  return 0;
}

void close_broken(void* stream) {
  --opened;
  delete static_cast<std::string*>(stream);
}

// -- again: y = 2 x, each time in the same memory; wild: in none --------------

int64_t shared[4096];

int32_t apply_again(void* stream, const ArrowArray* rows, ArrowArray* output,
                    ArrowArray* /*from*/, ballast_operator_error* error) {
  return guarded(error, [&] {
    const ArrowArray& x = *rows->children[*static_cast<int64_t*>(stream)];
    for (int64_t i = 0; i < rows->length; ++i)
      shared[i] = 2 * ballast::numbers_in<int64_t>(x)[i];
    ballast::give_rows(
        rows->length,
        {ballast::column_of_numbers(std::vector<int64_t>(rows->length))},
        output);
    output->children[0]->buffers[1] = shared;
  });
}

int32_t apply_wild(void* stream, const ArrowArray* rows, ArrowArray* output,
                   ArrowArray* from, ballast_operator_error* error) {
  const int32_t out = apply_again(stream, rows, output, from, error);
  output->children[0]->buffers[1] = reinterpret_cast<const void*>(64);
  return out;
}

const ballast_operator operators[] = {
    {"twice", 0, open_twice, apply_twice, close_number},
    {"spread", BALLAST_OPERATOR_CONCURRENT, open_twice, apply_spread,
     close_number},
    {"count", 0, open_count, apply_count, close_number},
    {"told", 0, open_told, apply_told, close_told},
    {"broken", 0, open_broken, apply_broken, close_broken},
    {"again", 0, open_twice, apply_again, close_number},
    {"wild", 0, open_twice, apply_wild, close_number}};

} // namespace

BALLAST_OPERATORS(operators)
