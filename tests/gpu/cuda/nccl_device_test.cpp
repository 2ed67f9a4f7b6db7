// Goal: what NCCL takes long for, freeing a communicator, keeps nobody waiting.
// Needs no GPU: NCCL is played.
#include "gpu/cuda/nccl_device.hpp"

#include <gtest/gtest.h>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;
namespace {

using namespace std::chrono_literals;

/// What the played library is told to do and has done. A communicator is known
/// by its address.
struct played_nccl {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<ncclComm_t> aborting, aborted, destroyed;
  bool may_end = false;

  void enter(std::vector<ncclComm_t>& list, ncclComm_t which) {
    std::lock_guard lock(mutex);
    list.push_back(which);
    changed.notify_all();
  }
  /// Blocks as NCCL's does, until the test lets it end.
  void free(ncclComm_t which, std::vector<ncclComm_t>& done) {
    std::unique_lock lock(mutex);
    aborting.push_back(which);
    changed.notify_all();
    changed.wait(lock, [this] { return may_end; });
    done.push_back(which);
  }
  bool await(size_t count, const std::vector<ncclComm_t>& list) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 20s, [&] { return list.size() >= count; });
  }
  void let_them_end() {
    std::lock_guard lock(mutex);
    may_end = true;
    changed.notify_all();
  }
};
played_nccl* stage = nullptr;

nccl_library library() {
  nccl_library out;
  out.comm_abort = [](ncclComm_t which) {
    stage->free(which, stage->aborted);
    return ncclSuccess;
  };
  out.comm_destroy = [](ncclComm_t which) {
    stage->free(which, stage->destroyed);
    return ncclSuccess;
  };
  out.group_start = [] { return ncclSuccess; };
  out.group_end = [] { return ncclSuccess; };
  return out;
}

class nccl_devices : public ::testing::Test {
protected:
  nccl_devices() { stage = &played_; }
  ~nccl_devices() override { played_.let_them_end(); }

  nccl_communicator_ptr communicator() {
    auto out = std::make_shared<nccl_communicator>();
    out->handle = reinterpret_cast<ncclComm_t>(&places_[used_++]);
    return out;
  }

  played_nccl played_;
  char places_[32] = {};
  size_t used_ = 0;
  const nccl_library library_ = library();
};

collectives::deadline soon() {
  return std::chrono::steady_clock::now() + 20s;
}

TEST_F(nccl_devices, use_one_communicator_while_another_is_being_freed) {
  nccl_device device(0, library_);
  const auto old = communicator(), next = communicator();
  device.abort(old, {collective_errc::aborted, "enough"});
  ASSERT_TRUE(played_.await(1, played_.aborting));
  int calls = 0;
  device.call(*next, "reduce", [&] {
    ++calls;
    return ncclSuccess;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(old->gone);
  played_.let_them_end();
  device.wait_gone(*old);
  EXPECT_EQ(played_.aborted.size(), 1U);
}

TEST_F(nccl_devices, raise_the_flag_of_one_while_another_is_being_freed) {
  nccl_device device(0, library_);
  const auto first = communicator(), second = communicator();
  device.abort(first, {collective_errc::aborted, "enough"});
  ASSERT_TRUE(played_.await(1, played_.aborting));
  device.abort(second, {collective_errc::aborted, "enough"});
  EXPECT_TRUE(played_.await(2, played_.aborting));
  played_.let_them_end();
  device.wait_gone(*first);
  device.wait_gone(*second);
}

TEST_F(nccl_devices, enter_no_communicator_that_was_given_up) {
  nccl_device device(0, library_);
  const auto old = communicator();
  device.abort(old, {collective_errc::aborted, "enough"});
  EXPECT_THROW(device.call(*old, "reduce",
                           [] {
                             ADD_FAILURE() << "entered";
                             return ncclSuccess;
                           }),
               collective_error);
  played_.let_them_end();
  device.wait_gone(*old);
}

TEST_F(nccl_devices, destroy_what_was_finalized_and_abort_the_rest) {
  {
    nccl_device device(0, library_);
    const auto ended = communicator(), broken = communicator();
    device.destroy(ended);
    device.abort(broken, {collective_errc::aborted, "enough"});
    device.abort(ended, {collective_errc::aborted, "too late"});
    played_.let_them_end();
  } // waits for both
  EXPECT_EQ(played_.destroyed.size() + played_.aborted.size(), 2U);
  EXPECT_GE(played_.aborted.size(), 1U);
}

TEST_F(nccl_devices, open_no_more_while_too_many_are_being_freed) {
  nccl_device device(0, library_);
  for (size_t i = 0; i < freed_at_once_max; ++i) {
    const auto one = communicator();
    device.wait_for_room(soon());
    device.destroy(one);
  }
  try {
    device.wait_for_room(std::chrono::steady_clock::now());
    ADD_FAILURE() << "there was room";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::timeout);
  }
  played_.let_them_end();
  device.wait_for_room(soon());
}

} // namespace
} // namespace ballast::gpu
