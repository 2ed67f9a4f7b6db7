/// The few socket calls that the collectives need, with their errors as text.
/// Every descriptor is close-on-exec and non-blocking. Errors that are no
/// collective's fault are thrown as std::system_error.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ballast {

/// Listens on `host` (numeric address or name) at a free port, which is put
/// into `port`.
unique_fd listen_tcp(const std::string& host, uint16_t& port);
/// Listens on an abstract Unix address with a random name, put into `name`.
unique_fd listen_local(std::string& name);
/// Accepts one connection; an empty descriptor when there is none.
unique_fd accept_one(int listener);

/// Begins to connect; the descriptor becomes writable when that is decided.
unique_fd start_connect_tcp(const std::string& host, uint16_t port);
/// Unix connects at once; an empty descriptor means: its queue is full, again.
unique_fd start_connect_local(const std::string& name);
/// 0, or why a connect failed (an errno).
int connect_result(int fd);

/// What a gradient connection needs: no delay, and the death of the other host
/// noticed within `link_timeout_ms` while nothing is sent.
void tune_tcp(int fd, int link_timeout_ms);
/// True while the other host's kernel has not answered what was sent twice or
/// more. A process that does not read is no reason: its kernel answers. False
/// for what is no TCP connection.
bool owes_an_answer(int fd);
/// Whoever polls for incoming bytes is woken once so many are there.
void wake_at(int fd, size_t bytes);

/// Sends/receives what goes through now: > 0 bytes, 0 nothing now, -1 the other
/// end is gone (`receive_some` also: it has closed).
ptrdiff_t send_some(int fd, const void* data, size_t bytes);
ptrdiff_t receive_some(int fd, void* data, size_t bytes);

/// Passes descriptors with a few bytes of text, whole or not at all (false: try
/// again when writable). At most 32 descriptors.
bool send_fds(int socket, const void* data, size_t bytes, const int* fds,
              size_t count);
/// Returns bytes received (0: nothing yet, -1: gone) and fills `fds`.
ptrdiff_t receive_fds(int socket, void* data, size_t bytes, unique_fd* fds,
                      size_t count_max, size_t& count);

unique_fd make_eventfd();
void signal_eventfd(int fd) noexcept;
void drain_eventfd(int fd) noexcept;

} // namespace ballast
