// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::launcher::live {

// Holds what a server needs of the head of an HTTP/1 request.
struct HttpRequest {
    int refusal = 0;  // the status with which a head that cannot be understood is answered; 0: none
    std::string method;
    std::string path;       // begins with a slash; what follows a question mark is left out
    std::string host;       // the header Host, with its port; empty: an HTTP/1.0 client gave none
    std::string known_tag;  // the header If-None-Match
};

// Returns the length of the head with its empty line, or npos if the end has not come yet.
std::size_t end_of_head(std::string_view received);

HttpRequest parse_head(std::string_view head);

}  // namespace lockstep::launcher::live
