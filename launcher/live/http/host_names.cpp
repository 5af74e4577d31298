// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/http/host_names.hpp"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>

namespace lockstep::launcher::live {

namespace {

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

bool is_port(const std::string& text) {
    return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_address(int family, const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> bytes;
    return ::inet_pton(family, text.c_str(), bytes.data()) == 1;
}

}  // namespace

std::string own_host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

HostNames::HostNames(const std::string& given) {
    for (const std::string& name : {given, own_host_name()})
        if (!name.empty()) names_.insert(lower_case(name));
    const std::string own = lower_case(own_host_name());
    names_.insert(own.substr(0, own.find('.')));
    names_.erase("");
}

bool HostNames::accepts(const std::string& host) const {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        if (end == std::string::npos) return false;
        const std::string port = host.substr(end + 1);
        return (port.empty() || (port.starts_with(':') && is_port(port.substr(1)))) &&
               is_address(AF_INET6, host.substr(1, end - 1));
    }
    const std::size_t colon = host.find(':');
    std::string name = lower_case(host.substr(0, colon));
    if (colon != std::string::npos && !is_port(host.substr(colon + 1))) return false;
    if (name.size() > 1 && name.ends_with('.')) name.pop_back();
    return name == "localhost" || name.ends_with(".localhost") || is_address(AF_INET, name) ||
           names_.contains(name);
}

}  // namespace lockstep::launcher::live
