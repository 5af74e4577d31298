// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_page.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "launcher/live/ranks_table.hpp"
#include "launcher/live/run_state.hpp"
#include "launcher/report/charts/html.hpp"
#include "launcher/report/page.hpp"
#include "launcher/text/exception_text.hpp"
#include "runtime/core/error.hpp"
#include "runtime/train/folder/lock_owner.hpp"

namespace lockstep::launcher::live {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

using namespace std::chrono_literals;

constexpr auto shortest_pause = 1s, idle_pause = 15s, looked_lately = 10s;
constexpr int share_of_core = 10;

// Returns a text that is another one when a file of the run has changed, or its process has ended.
std::string stamp_of(const std::string& folder) {
    std::string stamp = state_without_lines(folder, "").text;
    for (const char* name : {"config.json", "metrics.jsonl", "failure.json", "ranks.json",
                             "report.json", "checkpoints"}) {
        const fs::path path = fs::path(folder) / name;
        std::error_code none;
        const auto written = fs::last_write_time(path, none);
        stamp += none ? "-" : std::to_string(written.time_since_epoch().count());
        const auto bytes = fs::file_size(path, none);
        stamp += none ? " " : "/" + std::to_string(bytes) + " ";
    }
    return stamp;
}

std::string red_line(const std::string& text) {
    return "<p class=\"end failed\">" + report::escaped(text) + "</p>\n";
}

std::string page_of(const std::vector<std::string>& folders, report::Abscissa abscissa) {
    std::vector<report::Run> runs;
    std::string lines, ranks;
    for (const std::string& folder : folders) {
        const RankStates states = read_rank_states(folder);
        try {
            runs.push_back(report::read_run(folder, abscissa));
            const RunState state = state_of(runs.back());
            if (state.going == Going::silent) lines += red_line(folder + ": " + state.text);
        } catch (const std::exception& error) {
            lines += red_line(exception_text(error));
            const RunState state = state_without_lines(folder, "");
            const bool gone = state.going == Going::silent && !state.text.empty();
            if (!states.failure.empty())
                lines += red_line(folder + ": Failed: " + states.failure);
            else if (gone)
                lines += red_line(folder + ": " + state.text);
        }
        ranks += ranks_table(folders.size() > 1 ? folder : "", states);
    }
    std::string above = lines.empty() ? "" : "<div>\n" + lines + "</div>\n";
    if (!ranks.empty()) above += "<section>\n<h2>Ranks</h2>\n" + ranks + "</section>\n";
    return report::live_page(runs, above);
}

}  // namespace

struct LivePage::Shared {
    const std::vector<std::string> folders;
    const report::Abscissa abscissa;
    const FileDescriptor ready;
    std::mutex mutex;  // guards the members below
    std::condition_variable changed;
    bool stops = false, works = true;
    Clock::time_point looked = Clock::now();
    Version newest = {};

    Shared(std::vector<std::string> of, report::Abscissa over)
        : folders(std::move(of)), abscissa(over), ready(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (!ready) throw_errno("cannot make an event", "eventfd");
    }

    void put(std::string html, const std::string& tag) {
        const std::lock_guard lock(mutex);
        const bool first = newest.html == nullptr;
        newest = {std::make_shared<const std::string>(std::move(html)), tag};
        const std::uint64_t one = 1;
        if (first) (void)!::write(ready.raw(), &one, sizeof one);
    }

    // Returns false when the thread is to end.
    bool wait_after(Clock::duration took) {
        std::unique_lock lock(mutex);
        const auto done = Clock::now();
        const auto pause = std::max<Clock::duration>(shortest_pause, share_of_core * took);
        while (!stops) {
            const bool watched = Clock::now() - looked < looked_lately;
            const auto next =
                done + (watched ? pause : std::max<Clock::duration>(pause, idle_pause));
            if (Clock::now() >= next) break;
            changed.wait_until(lock, next);
        }
        works = !stops;
        if (stops) changed.notify_all();
        return !stops;
    }

    void keep_up_to_date() {
        const std::string token = train::random_name();
        std::string known_stamp, known_page;
        Clock::duration took{0};
        int version = 0;
        do {
            const auto begin = Clock::now();
            std::string stamp;
            for (const std::string& folder : folders) stamp += stamp_of(folder);
            if (stamp != known_stamp) {
                std::string page = page_of(folders, abscissa);
                known_stamp = stamp;
                if (page != known_page)
                    put(page, "\"" + token + "-" + std::to_string(++version) + "\"");
                known_page = std::move(page);
            }
            took = Clock::now() - begin;
        } while (wait_after(took));
    }
};

LivePage::LivePage(std::vector<std::string> folders, report::Abscissa abscissa)
    : shared_(std::make_shared<Shared>(std::move(folders), abscissa)) {
    std::thread([shared = shared_] { shared->keep_up_to_date(); }).detach();
}

// A file system that hangs must not keep the program from ending.
LivePage::~LivePage() {
    constexpr auto longest = 2s;
    std::unique_lock lock(shared_->mutex);
    shared_->stops = true;
    shared_->changed.notify_all();
    shared_->changed.wait_for(lock, longest, [this] { return !shared_->works; });
}

LivePage::Version LivePage::look() {
    const std::lock_guard lock(shared_->mutex);
    shared_->looked = Clock::now();
    shared_->changed.notify_all();
    return shared_->newest;
}

const FileDescriptor& LivePage::ready() const noexcept { return shared_->ready; }

}  // namespace lockstep::launcher::live
