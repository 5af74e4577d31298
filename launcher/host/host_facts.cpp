// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/host_facts.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "launcher/host/control_group.hpp"
#include "launcher/host/core_binding.hpp"

namespace lockstep::launcher {

namespace {

namespace fs = std::filesystem;

// Returns the value of the first line "key : value".
std::string value_of(const std::string& path, const std::string& key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(':');
        if (!line.starts_with(key) || colon == std::string::npos) continue;
        const auto first = line.find_first_not_of(" \t", colon + 1);
        return first == std::string::npos ? "" : line.substr(first);
    }
    return "";
}

std::vector<std::string> instructions(const std::string& cpuinfo) {
    std::istringstream words(value_of(cpuinfo, "flags"));
    const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
    std::vector<std::string> found;
    for (const char* wanted : {"avx2", "avx512f", "avx512_bf16", "amx_bf16"}) {
        if (std::find(flags.begin(), flags.end(), wanted) != flags.end()) found.push_back(wanted);
    }
    return found;
}

// Converts "65536 kB" to bytes.
std::int64_t kilobytes(const std::string& text) { return std::atoll(text.c_str()) * 1024; }

std::int64_t limit(int resource) {
    rlimit found{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &found) != 0) return unlimited;
    return found.rlim_cur == RLIM_INFINITY ? unlimited : static_cast<std::int64_t>(found.rlim_cur);
}

std::string numeric(const sockaddr& address) {
    std::array<char, NI_MAXHOST> text{};
    const auto length = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    const int failure = ::getnameinfo(&address, static_cast<socklen_t>(length), text.data(),
                                      text.size(), nullptr, 0, NI_NUMERICHOST);
    return failure == 0 ? text.data() : "";
}

Interface& named(std::vector<Interface>& list, const std::string& name) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
    if (found != list.end()) return *found;
    list.push_back({name, {}, 0});
    return list.back();
}

}  // namespace

Processor processor(const std::string& root) {
    const std::string cpuinfo = root + "/proc/cpuinfo";
    return {value_of(cpuinfo, "model name"), instructions(cpuinfo), bound_cores(),
            control_group_cores(root)};
}

Memory memory(const std::string& root) {
    const std::string meminfo = root + "/proc/meminfo";
    Memory found;
    found.bytes = kilobytes(value_of(meminfo, "MemTotal"));
    found.available_bytes = kilobytes(value_of(meminfo, "MemAvailable"));
    found.swap_bytes = kilobytes(value_of(meminfo, "SwapTotal"));
    found.limit_bytes = control_group_bytes(root);
    if (found.limit_bytes >= found.bytes) found.limit_bytes = unlimited;
    if (found.limit_bytes != unlimited) found.limit_free_bytes = control_group_free_bytes(root);
    struct statvfs shared {};
    if (::statvfs((root + "/dev/shm").c_str(), &shared) == 0) {
        found.shared_bytes = static_cast<std::int64_t>(shared.f_blocks * shared.f_frsize);
        found.shared_free_bytes = static_cast<std::int64_t>(shared.f_bavail * shared.f_frsize);
    }
    return found;
}

std::vector<Interface> interfaces(const std::string& root) {
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(raw, ::freeifaddrs);
    std::vector<Interface> found;
    for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
        const int family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        named(found, entry->ifa_name).addresses.push_back(numeric(*entry->ifa_addr));
    }
    for (Interface& one : found) {
        std::ifstream speed(root + "/sys/class/net/" + one.name + "/speed");
        // Virtual interfaces report -1: their speed is not known.
        if (!(speed >> one.mbit_per_s) || one.mbit_per_s < 0) one.mbit_per_s = 0;
    }
    return found;
}

std::int64_t infiniband_devices(const std::string& root) {
    std::error_code none;
    const fs::directory_iterator devices(root + "/sys/class/infiniband", none);
    return none ? 0 : std::distance(begin(devices), end(devices));
}

bool has_nvidia_gpu(const std::string& root) {
    const auto word = [](const fs::path& path) {
        std::ifstream file(path);
        std::string text;
        file >> text;
        return text;
    };
    std::error_code none;
    for (const auto& device : fs::directory_iterator(root + "/sys/bus/pci/devices", none)) {
        const bool shows_pictures = word(device.path() / "class").starts_with("0x03");
        if (shows_pictures && word(device.path() / "vendor") == "0x10de") return true;
    }
    return false;
}

Limits limits() {
    return {limit(RLIMIT_NOFILE), limit(RLIMIT_MEMLOCK), limit(RLIMIT_NPROC), limit(RLIMIT_CORE)};
}

}  // namespace lockstep::launcher
