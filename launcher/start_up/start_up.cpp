// SPDX-License-Identifier: Apache-2.0
#include "launcher/start_up/start_up.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

namespace lockstep::launcher {

namespace {

// A process keeps its start time when it executes another program.
double seconds_since_start_of_process() {
    std::ifstream file("/proc/self/stat");
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(text.rfind(')') + 1));  // the name may contain anything
    constexpr int fields_before_start = 19;                       // fields after the name
    std::string skipped;
    for (int i = 0; i < fields_before_start; ++i) fields >> skipped;
    double start_ticks = 0;
    timespec now{};
    if (!(fields >> start_ticks) || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
    const double now_s = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    return std::max(0.0, now_s - start_ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

std::string text_of(double seconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3f", seconds);
    return text.data();
}

// `all` has the parts of rank 0, then those of rank 1, and so on.
std::string start_up_text(const std::vector<StartUp::Part>& parts, const std::vector<double>& all) {
    const std::size_t count = parts.size();
    double total = 0;
    std::string text;
    for (std::size_t part = 0; part < count; ++part) {
        std::size_t slowest = 0;
        for (std::size_t rank = 1; rank < all.size() / count; ++rank) {
            if (all[rank * count + part] > all[slowest * count + part]) slowest = rank;
        }
        total += all[part];
        text += (part == 0 ? ": " : ", ") + parts[part].name + " " + text_of(all[part]);
        if (slowest == 0) continue;
        text +=
            " (rank " + std::to_string(slowest) + ": " + text_of(all[slowest * count + part]) + ")";
    }
    return "start-up took " + text_of(total) + " s" + text;
}

}  // namespace

StartUp::StartUp() : since_(Clock::now()) {
    parts_.push_back({"program", seconds_since_start_of_process()});
}

void StartUp::ended(std::string part) {
    const auto now = Clock::now();
    parts_.push_back({std::move(part), seconds_between(std::exchange(since_, now), now)});
}

void StartUpReport::on_step(const train::StepReport&) {
    if (std::exchange(told_, true)) return;
    start_up_.ended("first step");
    std::vector<double> own;
    for (const auto& part : start_up_.parts()) own.push_back(part.seconds);
    std::vector<double> all(own.size() * static_cast<std::size_t>(communicator_.size()));
    // Every rank takes part, whatever its --verbose says, because another rank's may differ.
    communicator_.all_gather(view_of(own), view_of(all), "start-up");
    communicator_.finish();
    if (communicator_.rank() == 0) log_.detail(start_up_text(start_up_.parts(), all));
}

}  // namespace lockstep::launcher
