// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/programs/fault_sweep.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/launcher/programs/fault_points.hpp"
#include "tests/support/failing_disk/power_cut.hpp"
#include "tests/support/files.hpp"

namespace lockstep::tests {
namespace {

namespace fs = std::filesystem;

// A folder with the operation's beginning, and the failing disk's files beside it.
struct Place {
    ScratchFolder scratch;
    DiskFiles files{scratch / "disk", scratch / "log", scratch / "journal"};

    explicit Place(const FolderTree& before) {
        write_tree(before, files.folder);
        fs::create_directory(files.journal);
    }
};

std::string last_call(const std::string& log) {
    const std::string text = read_text(log);
    const std::size_t at = text.find(" !\n");
    if (at == std::string::npos) return "not reached";
    const std::size_t begin = text.rfind('\n', at);
    return text.substr(begin + 1, at - begin - 1);
}

std::string told(const ProgramResult& run) {
    return "code " + std::to_string(run.code) + ", " + run.err;
}

std::string without(const std::string& folder, std::string text) {
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder))
        text.erase(at, folder.size());
    return text;
}

// Returns the complaints about one fault.
std::vector<std::string> complaints_about(const SweptOperation& operation, const DiskFault& fault) {
    const Place place(operation.before);
    const std::string& folder = place.files.folder;
    const ProgramResult met =
        run_within_limit(operation.command(folder), on_failing_disk(fault, place.files));
    const std::string call = fault.text() + " (" + last_call(place.files.log) + ")";
    std::vector<std::string> complaints;
    const auto look = [&](const char* what, Aftermath aftermath) {
        const std::string complaint = operation.check(folder, met, aftermath);
        if (!complaint.empty())
            complaints.push_back(
                without(folder, call + ", " + what + ": " + complaint + " [" + told(met) + "]"));
    };
    if (met.code == 124 || (met.code == 137 && !fault.action.starts_with("kill")))
        return {call + ": hangs"};
    const bool killed = fault.action.starts_with("kill") && met.code == 128 + SIGKILL;
    if (fault.at > 0 && !killed) {
        look("failed", Aftermath::failed);
        return complaints;
    }
    const std::vector<std::pair<const char*, FolderTree>> cuts = {
        {"power cut", synced_names(place.files.journal)},
        {"power cut after removals", synced_names_without_removed(place.files.journal)},
        {"power cut before data", latest_names(place.files.journal, folder)}};
    look(killed ? "killed" : "ended", Aftermath::killed);
    for (const auto& [what, survivors] : cuts) {
        write_tree(survivors, folder);
        look(what, Aftermath::power_cut);
    }
    return complaints;
}

std::vector<DiskCall> calls_of(const SweptOperation& operation) {
    const Place place(operation.before);
    const ProgramResult run =
        run_within_limit(operation.command(place.files.folder), on_failing_disk({}, place.files));
    if (run.code != 0) throw std::runtime_error("without a fault: " + told(run));
    return disk_calls(place.files.log);
}

}  // namespace

SweepResult sweep(const SweptOperation& operation, std::size_t max_points) {
    const char* const extent = std::getenv("FAULT_SWEEP");
    const std::vector<DiskCall> calls = calls_of(operation);
    std::vector<DiskFault> faults = extent != nullptr && std::string(extent) == "full"
                                        ? all_faults(calls)
                                        : some_faults(calls, max_points);
    faults.push_back({});  // the power is cut after a good end
    SweepResult result{static_cast<int>(calls.size()), static_cast<int>(faults.size()), {}};
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    {
        // A program that waits before it reads again leaves the cores to the others.
        constexpr int at_a_time = 4;
        std::vector<std::jthread> threads;
        for (int i = 0; i < at_a_time; ++i) {
            threads.emplace_back([&] {
                for (std::size_t one = next++; one < faults.size(); one = next++) {
                    const auto complaints = complaints_about(operation, faults[one]);
                    const std::lock_guard lock(mutex);
                    std::ranges::copy(complaints, std::back_inserter(result.complaints));
                }
            });
        }
    }
    for (const std::string& complaint : result.complaints) std::printf("%s\n", complaint.c_str());
    std::printf("%d calls, %d faults, %zu complaints\n", result.calls, result.points,
                result.complaints.size());
    return result;
}

ProgramResult run_within_limit(const std::vector<std::string>& command,
                               const std::map<std::string, std::string>& environment) {
    std::vector<std::string> words = {"env"};
    // `timeout` must not meet the faults itself.
    for (const auto& [name, value] : environment) words.push_back(name + "=" + value);
    words.push_back(program_path(command.front()));
    words.insert(words.end(), command.begin() + 1, command.end());
    words.insert(words.begin(), {"timeout", "-k", "60", "600"});
    return run_program(words);
}

std::string told_in_one_line(const ProgramResult& run) {
    // A failure that may pass is told before it is tried again.
    const int warnings = run.err.find("; trying again for at most ") != std::string::npos ? 1 : 0;
    const auto lines = std::ranges::count(run.err, '\n') - warnings;
    if (lines == 1) return "";
    return std::to_string(lines) + " lines instead of one";
}

void use_scratch_in_memory() {
    const char* const memory = "/dev/shm";
    if (::access(memory, W_OK | X_OK) == 0) ::setenv("TMPDIR", memory, 1);
}

}  // namespace lockstep::tests
