// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace lockstep::launcher::live {

struct HttpResponse {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::shared_ptr<const std::string> body;  // null: an empty one
    std::string tag = {};                     // empty: none
};

// Returns a response whose body is one line.
HttpResponse line_response(int status, const std::string& line);

// Returns the head of the response with its empty line. The connection ends after each response.
std::string head_of(const HttpResponse& response);

}  // namespace lockstep::launcher::live
