// Goal: parts of a state are all of it, and what is said of them is read as it
// was meant, or refused. Method: values to text and back; sizes of all kinds.
#include "actors/state_note.hpp"

#include "tests/store/expect_error.hpp"

#include <gtest/gtest.h>

namespace ballast::actors {
namespace {

TEST(state_parts, are_all_of_a_file_and_begin_with_pages) {
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{4097},
        uint64_t{1'500'000'123}, uint64_t{1} << 50})
    for (const uint32_t world : {1U, 2U, 3U, 7U, 100'000U}) {
      uint64_t at = 0;
      for (uint32_t rank = 0; rank < world; ++rank) {
        const byte_range part = part_of(bytes, rank, world);
        ASSERT_EQ(part.from, at);
        ASSERT_EQ(part.from % 4096, 0u);
        ASSERT_LE(part.to - part.from, bytes / world + 2 * 4096);
        at = part.to;
      }
      ASSERT_EQ(at, bytes);
    }
}

TEST(state_notes, are_read_as_they_were_written) {
  const state_note before{
      step_number{12}, 10, "0123456789abcdef", {4, 10}, {{5, "a0"}, {1, "b1"}}};
  const state_note after = read_note(text_of(before));
  EXPECT_EQ(after.copied, before.copied);
  EXPECT_EQ(after.file_bytes, before.file_bytes);
  EXPECT_EQ(after.header, before.header);
  EXPECT_EQ(after.part, before.part);
  ASSERT_EQ(after.checksums.size(), 2u);
  EXPECT_EQ(after.checksums[1].bytes, 1u);
  EXPECT_EQ(after.checksums[1].xxh64, "b1");
}

TEST(state_notes, are_refused_where_they_contradict_themselves) {
  for (
      const char* text :
      {"", "{}", "[]",
       R"({"copied":1,"file_bytes":9,"header":"","from":5,"to":4,"checksums":[]})",
       R"({"copied":1,"file_bytes":9,"header":"","from":0,"to":10,"checksums":[[10,""]]})",
       R"({"copied":1,"file_bytes":9,"header":"","from":0,"to":9,"checksums":[[8,""]]})"})
    EXPECT_FAILURE(read_note(text), errc::invalid_data, "not understood");
}

TEST(write_orders, are_read_as_they_were_written_whatever_the_path_is) {
  const write_order before{step_number{3},
                           uint64_t{1} << 40,
                           {"/a path/with@9/and \n so.safetensors", "token"}};
  const auto after = read_write_order(write_blob(before));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->after, before.after);
  EXPECT_EQ(after->at, before.at);
  EXPECT_EQ(after->to.file, before.to.file);
  EXPECT_EQ(after->to.token, before.to.token);
}

TEST(write_orders, are_nothing_else_that_is_asked_for) {
  step_number step{};
  for (const char* name :
       {"model@0", "checkpoint-3@0", "checkpoint-3/note", "checkpoint-/write 0",
        "checkpoint-x/write 0 t /f", "checkpoint-3/write x t /f"})
    EXPECT_FALSE(read_write_order(name)) << name;
  EXPECT_TRUE(is_note("checkpoint-3/note", step));
  EXPECT_EQ(step, step_number{3});
  for (const char* name : {"checkpoint-3@0", "checkpoint-/note", "3/note"})
    EXPECT_FALSE(is_note(name, step)) << name;
}

TEST(write_orders, are_answered_by_what_came_of_them) {
  EXPECT_TRUE(read_write_answer(write_answer(true, {})));
  EXPECT_FALSE(read_write_answer(write_answer(false, {})));
  EXPECT_FAILURE(
      read_write_answer(write_answer(true, {errc::disk_full, "no space", {}})),
      errc::disk_full, "no space");
  EXPECT_FAILURE(read_write_answer(write_answer(
                     true, {errc::run_dir_unusable, "cannot write", {}})),
                 errc::run_dir_unusable, "cannot write");
  EXPECT_FAILURE(read_write_answer("so"), errc::invalid_data, "not understood");
}

} // namespace
} // namespace ballast::actors
