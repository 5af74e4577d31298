// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/control_group.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "launcher/host/host_facts.hpp"

namespace lockstep::launcher {

namespace {

namespace fs = std::filesystem;

// Returns the folders of this process's group and of the groups above it, for version 2 or for one
// controller of version 1. A container often shows its own group as the root, so the result always
// includes the root.
std::vector<fs::path> groups(const std::string& root, const std::string& controller) {
    std::vector<fs::path> found;
    std::ifstream lines(root + "/proc/self/cgroup");  // "4:memory:/path" or "0::/path"
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string number, controllers, path;
        std::getline(fields, number, ':');
        std::getline(fields, controllers, ':');
        std::getline(fields, path);
        const bool of_version_1 =
            ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
        if (!controllers.empty() && !of_version_1) continue;
        fs::path top = root + "/sys/fs/cgroup";
        if (of_version_1) top /= controller;
        for (fs::path group = fs::path(path).relative_path(); !group.empty();
             group = group.parent_path()) {
            found.push_back(top / group);
        }
        found.push_back(top);
    }
    return found;
}

std::string first_word(const fs::path& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

std::int64_t tighter(std::int64_t one, std::int64_t other) {
    if (one == unlimited || other == unlimited) return std::max(one, other);
    return std::min(one, other);
}

std::int64_t memory_limit_of(const fs::path& group) {
    std::int64_t limit = unlimited;
    for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
        const std::string word = first_word(group / name);
        if (!word.empty() && word != "max") limit = tighter(limit, std::atoll(word.c_str()));
    }
    return limit;
}

std::int64_t memory_used_in(const fs::path& group) {
    std::int64_t used = 0, kept_files = 0, bytes = 0;
    for (const char* name : {"memory.current", "memory.usage_in_bytes"})
        used = std::max<std::int64_t>(used, std::atoll(first_word(group / name).c_str()));
    std::ifstream lines(group / "memory.stat");
    for (std::string name; lines >> name >> bytes;)  // version 1 has the total of all below, too
        if (name == "inactive_file" || name == "total_inactive_file")
            kept_files = std::max(kept_files, bytes);
    return used - kept_files;
}

double quota_of(const fs::path& group) {
    std::ifstream file(group / "cpu.max");  // "150000 100000" or "max 100000"
    std::string quota;
    double period = 0;
    if (file >> quota >> period) return quota == "max" ? 0 : std::atof(quota.c_str()) / period;
    const double used = std::atof(first_word(group / "cpu.cfs_quota_us").c_str());
    period = std::atof(first_word(group / "cpu.cfs_period_us").c_str());
    return used > 0 && period > 0 ? used / period : 0;
}

}  // namespace

std::int64_t control_group_bytes(const std::string& root) {
    std::int64_t tightest = unlimited;
    for (const fs::path& group : groups(root, "memory"))
        tightest = tighter(tightest, memory_limit_of(group));
    return tightest;
}

std::int64_t control_group_free_bytes(const std::string& root) {
    std::int64_t least = unlimited;
    for (const fs::path& group : groups(root, "memory")) {
        const std::int64_t limit = memory_limit_of(group);
        if (limit == unlimited) continue;
        least = tighter(least, std::max<std::int64_t>(limit - memory_used_in(group), 0));
    }
    return least;
}

double control_group_cores(const std::string& root) {
    double tightest = 0;
    for (const fs::path& group : groups(root, "cpu")) {
        const double quota = quota_of(group);
        if (quota > 0 && (tightest == 0 || quota < tightest)) tightest = quota;
    }
    return tightest;
}

}  // namespace lockstep::launcher
