// SPDX-License-Identifier: Apache-2.0
#include "tests/support/needs.hpp"

#include <pty.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace lockstep::tests {

namespace {

// What a need changes must not outlive its trial, so it is tried in a process of its own.
bool in_a_child(bool (*works)()) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(works() ? 0 : 1);
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

bool shell(const char* command) {
    return std::system((std::string("{ ") + command + "; } > /dev/null 2>&1").c_str()) == 0;
}

bool opens_terminal() {
    int terminal = -1, program = -1;
    return ::openpty(&terminal, &program, nullptr, nullptr, nullptr) == 0;
}

bool becomes_other_user() { return ::geteuid() == 0 && ::seteuid(12345) == 0; }

// The program unshare does the same.
bool mounts_apart() {
    const std::string place = std::filesystem::temp_directory_path().string();
    return ::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", place.c_str(), "tmpfs", 0, nullptr) == 0;
}

// A namespace gives anybody the right to mount; root has it, also where there are none.
bool mounts_disk() {
    if (::geteuid() != 0) return shell("unshare --map-root-user --mount mount -t tmpfs none /tmp");
    return shell(
        "disk=$(mktemp -d) && mount -t tmpfs none $disk && umount $disk; "
        "mounted=$?; rmdir $disk; test $mounted = 0");
}

bool makes_networks() {
    return ::geteuid() == 0 && shell(
                                   "unshare --net --uts sh -c 'hostname other && ip link add name "
                                   "bridge0 type bridge && "
                                   "ip link add name veth0 type veth peer name veth1'");
}

bool makes_tunnels() {
    return ::geteuid() == 0 && shell("unshare --net true && true <> /dev/net/tun");
}

bool forgets_names() {
    return ::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) == 0 &&
           ::mount("/dev/null", "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

struct Need {
    MissingNeed if_missing;
    bool (*met)();
};

std::vector<Need> all_needs() {
    using enum InIntegration;
    return {
        {{needs_terminal, "no terminal can be made in /dev/pts"}, opens_terminal},
        {{needs_other_user, "this process cannot become another user, as root can"},
         becomes_other_user},
        {{needs_mounts, "this process cannot mount in a namespace of its own, as root can"},
         mounts_apart},
        {{needs_small_disk, "this process cannot mount a file system"}, mounts_disk},
        {{needs_networks, "this process cannot make networks, as root can"}, makes_networks},
        {{needs_tunnels, "this process cannot make networks with /dev/net/tun, as root can",
          left_out},
         makes_tunnels},
        {{needs_nameless_host, "this process cannot make namespaces of users", left_out},
         forgets_names},
    };
}

}  // namespace

std::vector<MissingNeed> missing_needs(const std::vector<std::string_view>& suites) {
    std::vector<MissingNeed> missing;
    for (const auto& [need, met] : all_needs())
        if (std::ranges::find(suites, need.suite) != suites.end() && !in_a_child(met))
            missing.push_back(need);
    return missing;
}

}  // namespace lockstep::tests
