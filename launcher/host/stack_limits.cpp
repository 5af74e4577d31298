// SPDX-License-Identifier: Apache-2.0
#include "launcher/host/stack_limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t least_bytes = 512 * kib;

// Reads a size as OpenMP does: a number, blanks, and B, K, M or G; K if there is no letter. Returns
// nothing if it is none, which libgomp ignores, or if it is larger than any memory.
std::optional<std::uint64_t> size_of(std::string_view text) {
    constexpr std::string_view blanks = " \t\n\v\f\r";
    const auto trim = [&] {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        text = text.substr(0, text.find_last_not_of(blanks) + 1);
    };
    trim();
    if (text.starts_with('+')) text.remove_prefix(1);
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    trim();
    constexpr std::string_view units = "BbKkMmGg";
    const std::size_t at = text.empty() ? units.find('K') : units.find(text.front());
    if (text.size() > 1 || at == std::string_view::npos) return std::nullopt;
    std::uint64_t bytes = number;
    for (std::size_t power = at / 2; power > 0; --power)
        if (__builtin_mul_overflow(bytes, kib, &bytes)) return std::nullopt;
    return bytes;
}

void require_large(std::uint64_t bytes, const std::string& what, const std::string& advice) {
    if (bytes >= least_bytes) return;
    throw Error(ErrorKind::config, what + " has " + std::to_string(bytes / kib) +
                                       " KiB, and Lockstep needs at least " +
                                       std::to_string(least_bytes / kib) + "; " + advice);
}

}  // namespace

void require_stack() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        require_large(limit.rlim_cur, "the stack", "raise its limit (ulimit -s)");
}

void require_thread_stacks() {
    for (const std::string variable : {"OMP_STACKSIZE", "GOMP_STACKSIZE"}) {
        const char* value = std::getenv(variable.c_str());
        const auto bytes = value == nullptr ? std::nullopt : size_of(value);
        if (!bytes) continue;
        return require_large(*bytes, "a thread's stack, by " + variable + ",",
                             "unset the variable or give more");
    }
}

}  // namespace lockstep::launcher
