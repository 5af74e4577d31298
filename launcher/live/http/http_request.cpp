// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/http/http_request.hpp"

#include <algorithm>
#include <cctype>

namespace lockstep::launcher::live {

namespace {

constexpr int bad_request = 400, unknown_version = 505;

std::string_view next_line(std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

bool same_name(std::string_view a, std::string_view lower_case) {
    return std::ranges::equal(a, lower_case, [](unsigned char x, char y) {
        return std::tolower(x) == static_cast<unsigned char>(y);
    });
}

std::string_view trimmed(std::string_view text) {
    constexpr const char* blanks = " \t";
    const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
    text.remove_prefix(begin);
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// A proxy asks for a whole address: http://host/path.
void set_target(std::string_view target, HttpRequest& request) {
    constexpr std::string_view scheme = "http://";
    if (target.starts_with(scheme)) {
        target.remove_prefix(scheme.size());
        const std::size_t slash = std::min(target.find('/'), target.size());
        target.remove_prefix(slash);
        if (target.empty()) target = "/";
    }
    request.path = target.substr(0, target.find('?'));
    if (!request.path.starts_with('/')) request.refusal = bad_request;
}

bool parse_request_line(std::string_view line, HttpRequest& request) {
    const std::size_t first = line.find(' '), last = line.rfind(' ');
    request.refusal = bad_request;
    if (first == std::string_view::npos || first == last) return false;
    const std::string_view method = line.substr(0, first), version = line.substr(last + 1),
                           target = line.substr(first + 1, last - first - 1);
    if (method.empty() || !is_printable(method) || !is_printable(target)) return false;
    if (!version.starts_with("HTTP/")) return false;
    request.refusal = version == "HTTP/1.1" || version == "HTTP/1.0" ? 0 : unknown_version;
    request.method = method;
    if (request.refusal == 0) set_target(target, request);
    return request.refusal == 0;
}

}  // namespace

std::size_t end_of_head(std::string_view received) {
    const std::size_t dos = received.find("\n\r\n"), unix_end = received.find("\n\n");
    if (dos < unix_end) return dos + 3;
    return unix_end == std::string_view::npos ? unix_end : unix_end + 2;
}

HttpRequest parse_head(std::string_view head) {
    HttpRequest request;
    const std::string_view first = next_line(head);
    if (!parse_request_line(first, request)) return request;
    int hosts = 0;
    while (!head.empty()) {
        const std::string_view line = next_line(head);
        if (line.empty()) break;
        const std::size_t colon = line.find(':');
        const bool named = colon != std::string_view::npos && colon > 0;
        if (!named || !is_printable(line.substr(0, colon))) {
            request.refusal = bad_request;
            return request;
        }
        const std::string_view name = line.substr(0, colon),
                               value = trimmed(line.substr(colon + 1));
        if (same_name(name, "if-none-match")) request.known_tag = value;
        if (!same_name(name, "host")) continue;
        request.host = value;
        ++hosts;
    }
    const bool needs_host = first.ends_with("1.1");
    if (hosts > 1 || (needs_host && request.host.empty()) || !is_printable(request.host))
        request.refusal = bad_request;
    return request;
}

}  // namespace lockstep::launcher::live
