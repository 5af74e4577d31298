// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/pmix_check.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

namespace {

constexpr int knock_ms = 2'000;

// Tells whether the daemon at a URI such as "pmix-server.12;tcp4://127.0.0.1:34567" answers. A URI
// of another form counts as answering and is left to MPI.
bool answers(const std::string& uri) {
    const auto scheme = uri.find(";tcp");
    const auto colon = uri.rfind(':');
    const auto slashes = uri.find("://", scheme);
    if (scheme == std::string::npos || slashes == std::string::npos || colon <= slashes)
        return true;
    std::string host = uri.substr(slashes + 3, colon - slashes - 3);
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    int port = 0;
    const auto [end, failure] = std::from_chars(&uri[colon + 1], uri.data() + uri.size(), port);
    if (failure != std::errc() || port <= 0 || port > 65535) return true;
    for (const auto& address : resolve(host, port)) {
        if (connect_to(address, knock_ms)) return true;
    }
    return false;
}

struct Daemon {
    bool answers = false;
    std::string seen;  // the last variable that names it; empty: none
};

Daemon look_for_daemon(const Environment& environment) {
    const std::string_view prefix = "PMIX_SERVER_URI";  // one variable for each version of PMIx
    Daemon daemon;
    for (auto entry = environment.lower_bound(std::string(prefix));
         entry != environment.end() && entry->first.starts_with(prefix); ++entry) {
        daemon.seen = entry->first + "=" + entry->second;
        daemon.answers = answers(entry->second);
        if (daemon.answers) break;
    }
    return daemon;
}

}  // namespace

void require_pmix_daemon(const Environment& environment) {
    if (!environment.contains("PMIX_NAMESPACE")) return;
    const auto [answered, seen] = look_for_daemon(environment);
    if (answered) return;
    throw Error(
        ErrorKind::config,
        "PMIX_NAMESPACE is set, but the daemon of PMIx " +
            (seen.empty() ? "is not named (PMIX_SERVER_URI...)"
                          : "does not answer (" + shown(seen) + ")") +
            ": these variables are left over from another job; start the ranks from a "
            "clean shell by mpirun or srun --mpi=pmix, or unset PMIX_NAMESPACE and PMIX_RANK");
}

bool pmix_daemon_is_gone(const Environment& environment) {
    const auto [answered, seen] = look_for_daemon(environment);
    return !answered && !seen.empty();
}

}  // namespace lockstep::comm
