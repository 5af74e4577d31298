// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/programs/fault_points.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <set>

namespace lockstep::tests {
namespace {

// Returns the errors that Linux may give for a kind of call. A signal interrupts one call only.
std::vector<int> errors_of(const std::string& kind) {
    if (kind == "open") return {EMFILE, EACCES, ESTALE, EIO, ENOSPC, EROFS, EDQUOT, EINTR};
    if (kind == "list") return {EIO, ESTALE, EACCES};
    if (kind == "write") return {ENOSPC, EDQUOT, EIO, ESTALE, EINTR};
    if (kind == "sync") return {EIO, ENOSPC, EDQUOT, EROFS, EINTR};
    if (kind == "close") return {EIO, EDQUOT, ENOSPC, EINTR};
    // EINVAL tells that the file system cannot exchange two folders.
    if (kind == "rename") return {EINVAL, EIO, ENOSPC, EROFS, EACCES, EDQUOT, ESTALE};
    return {ENOSPC, EIO, EROFS, EACCES, EDQUOT, ESTALE};
}

bool changes_the_disk(const DiskCall& call) {
    return call.kind != "list" && call.kind != "close" && call.kind != "open";
}

// Temporary names end in a number or in random digits.
std::string site_of(const DiskCall& call) {
    std::string site = call.kind + " ";
    const std::size_t temporary = std::min(call.path.find(".tmp-"), call.path.find(".partial-"));
    for (std::size_t i = 0; i < call.path.size(); ++i) {
        const bool random = temporary != std::string::npos && i > temporary + 4 &&
                            call.path.find('/', temporary) > i;
        if (!random && std::isdigit(static_cast<unsigned char>(call.path[i])) == 0)
            site += call.path[i];
    }
    return site;
}

}  // namespace

std::vector<DiskFault> all_faults(const std::vector<DiskCall>& calls) {
    std::vector<DiskFault> faults;
    for (const DiskCall& call : calls) {
        for (const int error : errors_of(call.kind)) {
            faults.push_back({call.number, std::to_string(error), Onward::no});
            if (error != EINTR) faults.push_back({call.number, std::to_string(error), Onward::yes});
        }
        if (call.kind == "write") faults.push_back({call.number, "short", Onward::no});
        for (const char* kill : {"kill-before", "kill-after"})
            faults.push_back({call.number, kill, Onward::no});
    }
    return faults;
}

std::vector<DiskFault> some_faults(const std::vector<DiskCall>& calls, std::size_t max_points) {
    std::vector<DiskFault> faults;
    std::set<std::string> sites;
    for (const DiskCall& call : calls) {
        if (!sites.insert(site_of(call)).second) continue;
        const std::vector<int> errors = errors_of(call.kind);
        const std::size_t turn = sites.size();
        const int error = errors[turn / 2 % errors.size()];
        faults.push_back({call.number, std::to_string(error),
                          turn % 2 == 0 || error == EINTR ? Onward::no : Onward::yes});
        if (call.kind == "write") faults.push_back({call.number, "short", Onward::no});
        if (changes_the_disk(call)) faults.push_back({call.number, "kill-after", Onward::no});
    }
    if (faults.size() <= max_points) return faults;
    std::vector<DiskFault> spread;
    for (std::size_t i = 0; i < max_points; ++i)
        spread.push_back(faults[i * faults.size() / max_points]);
    return spread;
}

}  // namespace lockstep::tests
