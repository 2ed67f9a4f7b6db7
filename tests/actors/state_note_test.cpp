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
  const write_order before{"checkpoint-3",
                           {uint64_t{1} << 40, (uint64_t{1} << 40) + 7},
                           {"/a path/with@9/and \n so.safetensors", "token"},
                           true};
  const auto after = read_write_order(write_blob(before));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->image, before.image);
  EXPECT_EQ(after->part, before.part);
  EXPECT_EQ(after->to.file, before.to.file);
  EXPECT_EQ(after->to.token, before.to.token);
  EXPECT_TRUE(after->checked);
}

TEST(write_orders, are_nothing_else_that_is_asked_for) {
  for (const char* name :
       {"model@0", "checkpoint-3@0", "checkpoint-3/note",
        "/write 0 1 plain t /f", "checkpoint-3/write x 1 plain t /f",
        "checkpoint-3/write 2 1 plain t /f", "checkpoint-3/write 1 2 t /f"}) {
    EXPECT_FALSE(read_write_order(name)) << name;
    EXPECT_FALSE(read_hash_order(name)) << name;
  }
}

TEST(mark_orders, are_read_as_they_were_written_whatever_the_path_is) {
  for (const bool gone : {false, true}) {
    const mark_order before{{"/a path/model/write 1 2 with@9/note", "token"},
                            data::new_mark(),
                            gone};
    const auto after = read_mark_order(mark_blob(before));
    ASSERT_TRUE(after);
    EXPECT_EQ(after->mark, before.mark);
    EXPECT_EQ(after->to.file, before.to.file);
    EXPECT_EQ(after->to.token, before.to.token);
    EXPECT_EQ(after->gone, gone);
  }
  for (const char* name : {"mark", "mark  t /f", "mark ../a t /f", "model@0",
                           "checkpoint-3/write 0 1 plain t /f"})
    EXPECT_FALSE(read_mark_order(name)) << name;
}

TEST(write_orders, are_answered_by_what_came_of_them) {
  EXPECT_EQ(read_write_answer(write_answer("0123456789abcdef", {})),
            "0123456789abcdef");
  EXPECT_EQ(read_write_answer(write_answer("", {})), "");
  EXPECT_FALSE(read_write_answer(write_answer({}, {})).has_value());
  EXPECT_FAILURE((void)read_write_answer(
                     write_answer({}, {errc::disk_full, "no space", {}})),
                 errc::disk_full, "no space");
  EXPECT_FAILURE((void)read_write_answer(write_answer(
                     {}, {errc::run_dir_unusable, "cannot write", {}})),
                 errc::run_dir_unusable, "cannot write");
  EXPECT_FAILURE((void)read_write_answer("so"), errc::invalid_data,
                 "not understood");
}

TEST(images, are_asked_for_notes_by_their_names) {
  EXPECT_EQ(image_of_note(note_blob(state_blob(step_number{3}))),
            "checkpoint-3");
  EXPECT_EQ(image_of_note(note_blob(model_blob)), "model");
  EXPECT_FALSE(image_of_note("checkpoint-3@0"));
  EXPECT_EQ(step_of_state("checkpoint-3"), step_number{3});
  for (const char* name : {"model", "checkpoint-", "checkpoint-x", "3"})
    EXPECT_FALSE(step_of_state(name)) << name;
}

TEST(hash_orders, and_their_answers_are_read_as_they_were_written) {
  for (const bool checked : {false, true}) {
    const auto after = read_hash_order(hash_blob({{5, 9}, checked}));
    ASSERT_TRUE(after);
    EXPECT_EQ(after->part, (byte_range{5, 9}));
    EXPECT_EQ(after->checked, checked);
    EXPECT_EQ(after->image, model_blob);
    EXPECT_EQ(read_hash_order(hash_blob({{5, 9}, checked, best_blob}))->image,
              best_blob);
  }
  for (const char* name :
       {"model", "mine/hash 5 9 plain", "model/hash 5", "model/hash 5 9",
        "model/hash", "model/hash 9 5 plain", "model/hash 5 9 so"})
    EXPECT_FALSE(read_hash_order(name)) << name;
  const hash_answer answer =
      read_hash_answer(text_of(hash_answer{{"a", "d"}, {"b", "c"}}));
  EXPECT_EQ(answer.xxh64, (std::vector<std::string>{"a", "d"}));
  EXPECT_EQ(answer.whole.sha256, "b");
  EXPECT_EQ(answer.whole.digest, "c");
  EXPECT_FAILURE(read_hash_answer("{}"), errc::invalid_data, "not understood");
}

} // namespace
} // namespace ballast::actors
