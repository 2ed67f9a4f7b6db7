/// A Flight server of the tests' own, on a port of this machine, whose
/// endpoints fail, break off or keep silent as a test says. Any thread; it ends
/// with the object, and lets go of all that waits in it.
#pragma once

#include <arrow/api.h>
#include <arrow/flight/api.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ballast::data {

using arrow_batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

/// What stands behind a ticket.
struct played_endpoint {
  arrow_batches batches;
  std::vector<std::string> locations; // empty: this server
  /// How the calls before the last go on: after so many batches they end with
  /// this.
  struct attempt {
    size_t batches = 0;
    arrow::Status end;
    bool silent = false; // instead: nothing more, until the server ends
  };
  std::vector<attempt> attempts = {};
  /// What comes from the second call on; empty: the same.
  arrow_batches later = {};
  /// Called before the first batch.
  std::function<void()> begins = {};
};

class some_flight final : public arrow::flight::FlightServerBase {
public:
  some_flight() {
    arrow::flight::FlightServerOptions options(
        arrow::flight::Location::ForGrpcTcp("127.0.0.1", 0).ValueOrDie());
    const arrow::Status begun = Init(options);
    if (!begun.ok())
      throw std::runtime_error(begun.ToString());
  }
  ~some_flight() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    (void)Shutdown();
  }

  std::string uri(const std::string& path = {}) const {
    return "grpc://127.0.0.1:" + std::to_string(port()) + path;
  }

  std::vector<played_endpoint> endpoints;
  std::shared_ptr<arrow::Schema> schema; // null: not told with the flight
  std::string authorization;             // what a caller must send; empty: any
  arrow::Status answer;                  // to whoever asks for the flight

  int calls() const { return now(calls_); }
  int asked() const { return now(asked_); }
  std::string path() const { return now(path_); }
  std::string command() const { return now(command_); }
  /// Until a stream has begun to keep silent.
  void wait_for_silence() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return silent_; });
  }

  arrow::Status
  GetFlightInfo(const arrow::flight::ServerCallContext& context,
                const arrow::flight::FlightDescriptor& what,
                std::unique_ptr<arrow::flight::FlightInfo>* out) override {
    ARROW_RETURN_NOT_OK(let_in(context));
    arrow::flight::FlightInfo::Data about;
    {
      const std::lock_guard lock(mutex_);
      ++asked_;
      command_ = what.cmd;
      path_.clear();
      for (const std::string& one : what.path)
        path_ += "/" + one;
    }
    ARROW_RETURN_NOT_OK(answer);
    if (schema) {
      ARROW_ASSIGN_OR_RAISE(const auto told, arrow::flight::FlightInfo::Make(
                                                 *schema, what, {}, -1, -1));
      about.schema = told.serialized_schema();
    }
    about.descriptor = what;
    for (size_t i = 0; i < endpoints.size(); ++i) {
      std::vector<arrow::flight::Location> at;
      for (const std::string& one : endpoints[i].locations)
        at.push_back(arrow::flight::Location::Parse(one).ValueOrDie());
      about.endpoints.emplace_back(arrow::flight::Ticket{std::to_string(i)}, at,
                                   std::nullopt, "");
    }
    *out = std::make_unique<arrow::flight::FlightInfo>(about);
    return arrow::Status::OK();
  }

  arrow::Status
  DoGet(const arrow::flight::ServerCallContext& context,
        const arrow::flight::Ticket& ticket,
        std::unique_ptr<arrow::flight::FlightDataStream>* out) override {
    ARROW_RETURN_NOT_OK(let_in(context));
    const size_t number = std::stoul(ticket.ticket);
    if (number >= endpoints.size())
      return arrow::Status::KeyError("no ticket ", ticket.ticket);
    const played_endpoint& one = endpoints[number];
    size_t before = 0;
    {
      const std::lock_guard lock(mutex_);
      ++calls_;
      seen_.resize(endpoints.size());
      before = seen_[number]++;
    }
    if (one.begins)
      one.begins();
    played_endpoint::attempt how{one.batches.size(), arrow::Status::OK()};
    if (before < one.attempts.size())
      how = one.attempts[before];
    if (how.batches == 0 && !how.end.ok())
      return how.end;
    *out = std::make_unique<arrow::flight::RecordBatchStream>(
        std::make_shared<rows>(
            *this, before > 0 && !one.later.empty() ? one.later : one.batches,
            how));
    return arrow::Status::OK();
  }

private:
  class rows final : public arrow::RecordBatchReader {
  public:
    rows(some_flight& of, arrow_batches batches, played_endpoint::attempt how)
        : of_(of), batches_(std::move(batches)), how_(std::move(how)) {}
    std::shared_ptr<arrow::Schema> schema() const override {
      return batches_.at(0)->schema();
    }
    arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
      *out = nullptr;
      if (at_ < std::min(how_.batches, batches_.size())) {
        *out = batches_[at_++];
        return arrow::Status::OK();
      }
      if (how_.silent)
        of_.keep_silent();
      return how_.end;
    }

  private:
    some_flight& of_;
    arrow_batches batches_;
    played_endpoint::attempt how_;
    size_t at_ = 0;
  };

  void keep_silent() {
    std::unique_lock lock(mutex_);
    silent_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return ending_; });
  }

  arrow::Status let_in(const arrow::flight::ServerCallContext& context) const {
    const auto& sent = context.incoming_headers();
    const auto found = sent.find("authorization");
    if (!authorization.empty() &&
        (found == sent.end() || found->second != authorization))
      return arrow::flight::MakeFlightError(
          arrow::flight::FlightStatusCode::Unauthenticated,
          "nobody knows " + (found == sent.end() ? std::string("you")
                                                 : std::string(found->second)));
    return arrow::Status::OK();
  }

  template <class T>
  T now(const T& what) const {
    const std::lock_guard lock(mutex_);
    return what;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> seen_;
  int calls_ = 0;
  int asked_ = 0;
  std::string path_;
  std::string command_;
  bool silent_ = false;
  bool ending_ = false;
};

} // namespace ballast::data
