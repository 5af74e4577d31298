// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/ranks_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>

#include "launcher/watch/failure_report.hpp"
#include "launcher/watch/on_thread.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* ranks_name = "/ranks.json";

// The text needs not to survive a crash of the host, so that nothing waits for the disk.
void replace_file(const std::string& path, const std::string& text) {
    const std::string temporary = train::leftover_name(path);
    const FileDescriptor out(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!out) return;
    const bool whole =
        ::write(out.raw(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!whole || std::rename(temporary.c_str(), path.c_str()) != 0) ::unlink(temporary.c_str());
}

}  // namespace

// Where memory is missing, a report of it must still be told: nothing here throws.
void RanksFile::write(const std::vector<comm::Sighting>& ranks) noexcept try {
    constexpr std::chrono::seconds shortest_pause(1);
    const auto now = std::chrono::steady_clock::now();
    if (folder_.empty() || now < next_) return;
    if (writing_.valid() &&
        writing_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout)
        return;
    next_ = now + shortest_pause;
    const std::string text = ranks_json(ranks, limits_, std::chrono::system_clock::now());
    auto written = on_thread([path = folder_ + ranks_name, text] { replace_file(path, text); });
    // Without memory for a thread the file stays as it was.
    if (written.wait_for(std::chrono::seconds(0)) != std::future_status::deferred)
        writing_ = std::move(written);
} catch (const std::exception&) {
    // The file stays as it was.
}

void RanksFile::remove() noexcept try {
    constexpr std::chrono::milliseconds longest(500);
    if (!writing_.valid()) return;
    const bool hangs = writing_.wait_for(longest) == std::future_status::timeout;
    writing_ = {};
    if (!hangs) within(longest, [folder = folder_] { forget_ranks(folder); });
} catch (const std::exception&) {
    // The next start removes the file.
}

void forget_ranks(const std::string& folder) noexcept try {
    ::unlink((folder + ranks_name).c_str());
} catch (const std::exception&) {
    // The next start removes the file.
}

}  // namespace lockstep::launcher
