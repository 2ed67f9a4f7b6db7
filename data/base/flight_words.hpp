/// What a server of Arrow Flight said, without the text that Flight and gRPC
/// put around it: "Flight returned ... error, with message: TEXT. gRPC client
/// debug context: ...". Pure; empty if nothing is left.
#pragma once

#include <string>

namespace ballast::data {

std::string words_in_flight_error(std::string text);

} // namespace ballast::data
