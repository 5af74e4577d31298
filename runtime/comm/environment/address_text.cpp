// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/address_text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

namespace {

// Blanks of ASCII, U+00A0, U+2007, U+200B, U+202F, U+3000, and the byte order mark.
constexpr std::array<std::string_view, 12> blanks{
    " ",        "\t",           "\r",           "\n",           "\v",           "\f",
    "\xC2\xA0", "\xE2\x80\x87", "\xE2\x80\x8B", "\xE2\x80\xAF", "\xE3\x80\x80", "\xEF\xBB\xBF"};

bool digits_only(std::string_view text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_link_local(const std::string& address) {
    in6_addr bytes{};
    return ::inet_pton(AF_INET6, address.c_str(), &bytes) == 1 && IN6_IS_ADDR_LINKLOCAL(&bytes);
}

}  // namespace

std::string trimmed(std::string_view text) {
    const auto at_front = [&](std::string_view blank) { return text.starts_with(blank); };
    const auto at_end = [&](std::string_view blank) { return text.ends_with(blank); };
    for (auto blank = blanks.begin();
         (blank = std::ranges::find_if(blanks, at_front)) != blanks.end();)
        text.remove_prefix(blank->size());
    for (auto blank = blanks.begin();
         (blank = std::ranges::find_if(blanks, at_end)) != blanks.end();)
        text.remove_suffix(blank->size());
    return std::string(text);
}

bool is_ipv6(const std::string& text) {
    in6_addr bytes{};
    return ::inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &bytes) == 1;
}

std::string host_of_address(const AddressSource& source, const std::string& text) {
    std::string host = trimmed(text);
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorKind::config,
                    std::string(source.address) + "'" + shown(text) + "': " + what);
    };
    const auto alone = [&](const std::string& name) {
        refuse("give the host alone" + (name.empty() ? "" : ", " + shown(name)) +
               ", and the port by " + std::string(source.port));
    };
    if (const auto scheme = host.find("://"); scheme != std::string::npos) {
        const std::string place = host.substr(scheme + 3);
        alone(place.substr(0, place.starts_with('[') ? place.find(']') + 1 : place.find(':')));
    }
    if (host.starts_with('[')) {
        const auto close = host.find(']');
        if (close == std::string::npos) refuse("the closing ] is missing");
        if (close + 1 < host.size()) alone(host.substr(0, close + 1));
        host = host.substr(1, close - 1);
        if (!is_ipv6(host)) refuse("brackets hold an IPv6 address, as in [::1]");
    }
    const auto colon = host.rfind(':');
    if (colon != std::string::npos && !is_ipv6(host)) {
        const bool has_port = host.find(':') == colon && digits_only(host.substr(colon + 1));
        if (has_port) alone(host.substr(0, colon));
        refuse("is neither a host's name nor an IPv4 or IPv6 address");
    }
    if (is_link_local(host))
        refuse("is an address of one network interface: add its name, as in " + shown(host) +
               "%eth0");
    return host;
}

int store_port_beside(int port) {
    constexpr int last_port = 65535, ports = 16;
    return port + ports <= last_port ? port + 1 : port - ports;
}

}  // namespace lockstep::comm
