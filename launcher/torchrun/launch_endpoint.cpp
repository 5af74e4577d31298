// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/launch_endpoint.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "launcher/torchrun/launch_hosts.hpp"
#include "runtime/comm/environment/address_text.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* option = "--rdzv-endpoint ";

[[noreturn]] void refuse_endpoint(const std::string& text, const std::string& what) {
    refuse(option + ("'" + shown(text) + "': ") + what);
}

bool digits_only(const std::string& text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

int port_of(const std::string& text, const std::string& port) {
    int value = 0;
    const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), value);
    if (!digits_only(port) || failure != std::errc() || value > 65535)
        refuse_endpoint(text, "'" + shown(port) +
                                  "' is not a port: give 1 to 65535, or 0 for one that is free");
    return value;
}

}  // namespace

Endpoint parse_endpoint(const std::string& text) {
    const std::string whole = comm::trimmed(text);
    if (whole.find("://") != std::string::npos)
        refuse_endpoint(text, "give HOST:PORT, without what stands before ://");
    const auto colon = whole.rfind(':');
    std::string host = whole, port;
    bool has_port = colon != std::string::npos;
    if (whole.starts_with('[')) {
        const auto close = whole.find(']');
        if (close == std::string::npos) refuse_endpoint(text, "the closing ] is missing");
        has_port = close + 1 < whole.size();
        if (has_port && whole[close + 1] != ':') refuse_endpoint(text, "give [ADDRESS]:PORT");
    } else if (has_port && comm::is_ipv6(whole)) {
        const bool both =
            comm::is_ipv6(whole.substr(0, colon)) && digits_only(whole.substr(colon + 1));
        if (both)
            refuse_endpoint(text, "is an address of IPv6 with a port or without one: give [" +
                                      shown(whole.substr(0, colon)) +
                                      "]:" + shown(whole.substr(colon + 1)) + " or [" +
                                      shown(whole) + "]");
        has_port = false;
    }
    if (has_port) {
        host = whole.substr(0, colon);
        port = whole.substr(colon + 1);
    }
    if (host.empty()) refuse_endpoint(text, "the host is missing: give HOST:PORT");
    return {comm::host_of_address({option, "HOST:PORT"}, host),
            has_port ? port_of(text, port) : -1};
}

}  // namespace lockstep::launcher
