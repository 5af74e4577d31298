// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/control_group_folders.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace lockstep::launcher {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Words split(const std::string& text, char separator) {
    Words words;
    std::istringstream all(text);
    for (std::string word; std::getline(all, word, separator);)
        if (!word.empty()) words.push_back(word);
    return words;
}

bool contains(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// A line of /proc/self/cgroup: "4:cpu,cpuacct:/path" of version 1, "0::/path" of version 2.
struct Membership {
    Words controllers;  // empty: version 2
    Words path;
};

std::vector<Membership> memberships(const std::string& root) {
    std::vector<Membership> found;
    std::ifstream lines(root + "/proc/self/cgroup");
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find(':');
        const auto second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        found.push_back({split(line.substr(first + 1, second - first - 1), ','),
                         split(line.substr(second + 1), '/')});
    }
    return found;
}

// Tells whether what lies above the group `shown` is known.
enum class Above { known, unknown };

struct Mount {
    bool version_1 = false;
    Words controllers;  // only of version 1
    Words shown;        // the group that is mounted here, as this process's namespace calls it
    fs::path point;
    Above above = Above::known;
};

// The kernel writes a space of a path as \040.
std::string unescaped(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool code = text[i] == '\\' && i + 3 < text.size();
        plain += code ? static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8))
                      : text[i];
        if (code) i += 3;
    }
    return plain;
}

std::optional<Mount> mount_of(const std::string& line, const std::string& root) {
    const Words words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    constexpr std::ptrdiff_t before = 6, after = 4;
    if (dash - words.begin() < before || words.end() - dash < after) return std::nullopt;
    if (dash[1] != "cgroup" && dash[1] != "cgroup2") return std::nullopt;
    return Mount{dash[1] == "cgroup", split(dash[3], ','), split(unescaped(words[3]), '/'),
                 root + unescaped(words[4])};
}

// Returns the usual places where /proc does not list any. A container often shows its own group
// there.
std::vector<Mount> usual_mounts(const std::string& root, const std::string& controller) {
    const fs::path top = root + "/sys/fs/cgroup";
    std::vector<Mount> mounts{{false, {}, {}, top, Above::unknown},
                              {false, {}, {}, top / "unified", Above::unknown}};
    for (const std::string& name : Words{controller, "cpu,cpuacct"})
        mounts.push_back({true, split(name, ','), {}, top / name, Above::unknown});
    return mounts;
}

std::vector<Mount> mounts(const std::string& root, const std::string& controller) {
    std::vector<Mount> found;
    std::ifstream lines(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(lines, line);)
        if (const auto mount = mount_of(line, root)) found.push_back(*mount);
    return found.empty() ? usual_mounts(root, controller) : found;
}

std::size_t steps_up(const Words& path) {
    const auto name =
        std::find_if(path.begin(), path.end(), [](const auto& w) { return w != ".."; });
    return static_cast<std::size_t>(name - path.begin());
}

// Returns the folder below `top` without the first words of its path.
fs::path below(fs::path top, const Words& path, std::size_t left_out) {
    for (std::size_t i = left_out; i < path.size(); ++i) top /= path[i];
    return top;
}

bool holds_this_process(const fs::path& group, const std::string& process) {
    std::ifstream lines(group / "cgroup.procs");
    for (std::string line; std::getline(lines, line);)
        if (line == process) return true;
    return false;
}

// A process does not learn the names of the groups between the mounted one and its namespace's
// root. They are those below which its own number is listed.
std::optional<fs::path> search(const fs::path& top, std::size_t levels, const Words& path,
                               const std::string& process) {
    constexpr std::size_t max_groups = 4096;
    std::vector<fs::path> groups{top};
    for (; levels > 0; --levels) {
        std::vector<fs::path> inner;
        for (const fs::path& group : groups) {
            std::error_code none;
            for (const auto& entry : fs::directory_iterator(group, none))
                if (entry.is_directory(none) && inner.size() < max_groups)
                    inner.push_back(entry.path());
        }
        groups = std::move(inner);
    }
    for (fs::path& group : groups) {
        group = below(group, path, steps_up(path));
        if (holds_this_process(group, process)) return group;
    }
    return std::nullopt;
}

// Returns this process's group below the mount, or nothing if the mount shows other groups.
std::optional<fs::path> group_at(const Mount& mount, const Words& path,
                                 const std::string& process) {
    const std::size_t up = steps_up(path);
    if (mount.above == Above::unknown) return below(mount.point, path, up);
    const Words& shown = mount.shown;
    const bool inside =
        shown.size() <= path.size() && std::equal(shown.begin(), shown.end(), path.begin());
    // A further way up would lead out of what the mount shows.
    if (inside && up <= shown.size()) return below(mount.point, path, shown.size());
    const std::size_t levels = steps_up(shown);
    if (levels != shown.size() || up >= levels) return std::nullopt;
    return search(mount.point, levels - up, path, process).value_or(mount.point);
}

}  // namespace

std::vector<fs::path> control_group_folders(const std::string& root,
                                            const std::string& controller) {
    std::ifstream stat(root + "/proc/self/stat");
    std::string process;
    stat >> process;
    std::vector<fs::path> found;
    const auto all_mounts = mounts(root, controller);
    for (const Membership& member : memberships(root)) {
        const bool version_1 = !member.controllers.empty();
        if (version_1 && !contains(member.controllers, controller)) continue;
        for (const Mount& mount : all_mounts) {
            const bool other = version_1 && !contains(mount.controllers, controller);
            if (mount.version_1 != version_1 || other) continue;
            const auto own = group_at(mount, member.path, process);
            if (!own) continue;
            fs::path group = *own;
            for (; group != mount.point && group.has_relative_path(); group = group.parent_path())
                found.push_back(group);
            found.push_back(mount.point);
        }
    }
    return found;
}

}  // namespace lockstep::launcher
