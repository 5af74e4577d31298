// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/http/http_response.hpp"

namespace lockstep::launcher::live {

namespace {

const char* reason(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 304:
            return "Not Modified";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Bad Request";
    }
}

}  // namespace

HttpResponse line_response(int status, const std::string& line) {
    HttpResponse response;
    response.status = status;
    response.body = std::make_shared<const std::string>(line + "\n");
    return response;
}

std::string head_of(const HttpResponse& response) {
    std::string head =
        "HTTP/1.1 " + std::to_string(response.status) + " " + reason(response.status) + "\r\n";
    const auto add = [&head](const char* name, const std::string& value) {
        head += std::string(name) + ": " + value + "\r\n";
    };
    if (response.status != 304) {
        add("Content-Type", response.type);
        add("Content-Length", std::to_string(response.body ? response.body->size() : 0));
    }
    if (response.status == 405) add("Allow", "GET, HEAD");
    if (!response.tag.empty()) add("ETag", response.tag);
    add("Cache-Control", "no-store");
    add("X-Content-Type-Options", "nosniff");
    add("X-Frame-Options", "DENY");
    add("Referrer-Policy", "no-referrer");
    add("Cross-Origin-Resource-Policy", "same-origin");
    add("Connection", "close");
    return head + "\r\n";
}

}  // namespace lockstep::launcher::live
