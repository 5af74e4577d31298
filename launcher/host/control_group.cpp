// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/control_group.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "launcher/host/control_group_folders.hpp"

namespace lockstep::launcher {

namespace {

namespace fs = std::filesystem;

// Returns `unlimited` for "max", for version 1's largest number, which stands for it, and for what
// is no positive number.
std::int64_t number(const std::string& word) {
    constexpr std::int64_t largest = std::int64_t{1} << 62;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = error == std::errc() && end == word.data() + word.size();
    return whole && value > 0 && value < largest ? value : unlimited;
}

std::int64_t number_in(const fs::path& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return number(word);
}

std::int64_t tighter(std::int64_t one, std::int64_t other) {
    if (one == unlimited || other == unlimited) return std::max(one, other);
    return std::min(one, other);
}

// Returns the number by which the kernel knows the group, the same in every namespace.
std::uint64_t id_of(const fs::path& group) {
    struct stat found {};
    return ::stat(group.c_str(), &found) == 0 ? found.st_ino : 0;
}

std::int64_t used_in(const fs::path& group) {
    std::int64_t used = 0, kept_files = 0, bytes = 0;
    for (const char* name : {"memory.current", "memory.usage_in_bytes"})
        used = std::max(used, number_in(group / name));
    std::ifstream lines(group / "memory.stat");
    for (std::string name; lines >> name >> bytes;)  // version 1 has the total of all below, too
        if (name == "inactive_file" || name == "total_inactive_file")
            kept_files = std::max(kept_files, bytes);
    return std::max<std::int64_t>(used - kept_files, 0);
}

// Version 1 limits memory and swap together, version 2 swap alone; "0" allows none.
std::int64_t swap_of(const fs::path& group, std::int64_t bytes) {
    const std::int64_t both = number_in(group / "memory.memsw.limit_in_bytes");
    if (both != unlimited && bytes != unlimited) return std::max<std::int64_t>(both - bytes, 0);
    std::ifstream file(group / "memory.swap.max");
    std::string word;
    file >> word;
    return word == "0" ? 0 : number(word);
}

// Returns 0 if there is no quota.
double quota_of(const fs::path& group) {
    std::ifstream file(group / "cpu.max");  // "150000 100000" or "max 100000"
    std::string quota, period;
    if (!(file >> quota >> period)) {
        quota.clear();
        std::ifstream(group / "cpu.cfs_quota_us") >> quota;  // "-1": none
        std::ifstream(group / "cpu.cfs_period_us") >> period;
    }
    const std::int64_t used_us = number(quota), period_us = number(period);
    if (used_us == unlimited || period_us == unlimited) return 0;
    return static_cast<double>(used_us) / static_cast<double>(period_us);
}

}  // namespace

std::vector<CpuGroup> cpu_groups(const std::string& root) {
    std::vector<CpuGroup> found;
    for (const fs::path& group : control_group_folders(root, "cpu")) {
        const double cores = quota_of(group);
        const std::uint64_t id = id_of(group);
        const auto same = [&](const CpuGroup& one) { return one.id == id; };
        if (cores > 0 && std::none_of(found.begin(), found.end(), same))
            found.push_back({id, cores});
    }
    return found;
}

std::vector<MemoryGroup> memory_groups(const std::string& root) {
    std::vector<MemoryGroup> found;
    for (const fs::path& group : control_group_folders(root, "memory")) {
        MemoryGroup one;
        one.id = id_of(group);
        one.bytes =
            tighter(number_in(group / "memory.max"), number_in(group / "memory.limit_in_bytes"));
        one.high = number_in(group / "memory.high");
        const auto same = [&](const MemoryGroup& other) { return other.id == one.id; };
        if ((one.bytes == unlimited && one.high == unlimited) ||
            std::any_of(found.begin(), found.end(), same))
            continue;
        one.folder = group.string().substr(root.size());
        one.swap = swap_of(group, one.bytes);
        one.used = used_in(group);
        found.push_back(one);
    }
    return found;
}

std::int64_t control_group_bytes(const std::string& root) {
    std::int64_t tightest = unlimited;
    for (const MemoryGroup& group : memory_groups(root)) tightest = tighter(tightest, group.bytes);
    return tightest;
}

std::int64_t control_group_free_bytes(const std::string& root) {
    std::int64_t least = unlimited;
    for (const MemoryGroup& group : memory_groups(root)) {
        if (group.bytes == unlimited) continue;
        least = tighter(least, std::max<std::int64_t>(group.bytes - group.used, 0));
    }
    return least;
}

double control_group_cores(const std::string& root) {
    double tightest = 0;
    for (const CpuGroup& group : cpu_groups(root))
        if (tightest == 0 || group.cores < tightest) tightest = group.cores;
    return tightest;
}

}  // namespace lockstep::launcher
