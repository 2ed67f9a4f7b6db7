/// The socket calls that the collectives need, with their errors as text. Every
/// descriptor is close-on-exec and non-blocking. Errors outside of the
/// collectives' control are thrown as std::system_error.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ballast::collectives {

/// Listens on `host` (numeric address or name) at a free port, returned in
/// `port`.
unique_fd listen_tcp(const std::string& host, uint16_t& port);
/// Listens on an abstract Unix address with a random name, returned in `name`.
unique_fd listen_local(std::string& name);
/// Accepts one connection; an empty descriptor if there is none.
unique_fd accept_one(int listener);

/// Starts to connect; the descriptor becomes writable when the result is known.
unique_fd start_connect_tcp(const std::string& host, uint16_t port);
/// Unix sockets connect at once; an empty descriptor means that the queue is
/// full: try again.
unique_fd start_connect_local(const std::string& name);
/// 0, or the errno of a failed connect.
int connect_result(int fd);

/// Options for a gradient connection: no delay, and the death of the other host
/// noticed within `link_timeout_ms` while nothing is sent.
void tune_tcp(int fd, int link_timeout_ms);
/// True while the other host's kernel has not acknowledged data sent twice or
/// more. A process that does not read is no reason: its kernel answers. False
/// for other sockets than TCP.
bool owes_an_answer(int fd);
/// A thread that polls for input is woken once this many bytes are here.
void wake_at(int fd, size_t bytes);

/// Sends/receives without blocking: > 0 bytes, 0 nothing now, -1 the other end
/// is gone (`receive_some` also: it has closed).
ptrdiff_t send_some(int fd, const void* data, size_t bytes);
ptrdiff_t receive_some(int fd, void* data, size_t bytes);

/// Passes descriptors with a few bytes of text, completely or not at all
/// (false: try again when writable). At most 32 descriptors.
bool send_fds(int socket, const void* data, size_t bytes, const int* fds,
              size_t count);
/// Returns the bytes received (0: nothing yet, -1: closed) and fills `fds`.
ptrdiff_t receive_fds(int socket, void* data, size_t bytes, unique_fd* fds,
                      size_t count_max, size_t& count);

unique_fd make_eventfd();
void signal_eventfd(int fd) noexcept;
void drain_eventfd(int fd) noexcept;

} // namespace ballast::collectives
