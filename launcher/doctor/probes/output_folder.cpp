// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/output_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "launcher/doctor/probes/run_with_timeout.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher::doctor {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::size_t block_bytes = std::size_t{4} << 20;
constexpr std::int64_t max_bytes = std::int64_t{64} << 20;
constexpr milliseconds write_time(500);

struct LookedFolder {
    FolderFacts facts;
    std::shared_ptr<TrialFile> trial;
};

// Syncs the file as checkpoints do.
double write_rate(const std::string& path, std::int64_t free_bytes) {
    const std::vector<std::byte> block(block_bytes, std::byte{0x5A});
    const std::int64_t most = std::min(max_bytes, free_bytes / 4);
    train::OutputFile file(path, train::OutputFile::Mode::create);
    ::unlink(path.c_str());  // a doctor that is killed leaves no data
    std::int64_t written = 0;
    const auto begin = Clock::now();
    while (written + static_cast<std::int64_t>(block.size()) <= most &&
           Clock::now() < begin + write_time) {
        file.write(block);
        file.sync();
        written += static_cast<std::int64_t>(block.size());
    }
    const double seconds = seconds_between(begin, Clock::now());
    file.close();
    return written == 0 ? 0 : static_cast<double>(written) / seconds;
}

LookedFolder look(const std::string& folder, std::int64_t checkpoints_bytes) {
    LookedFolder looked;
    FolderFacts& facts = looked.facts;
    facts.path = facts.existing = folder;
    facts.checkpoints_bytes = checkpoints_bytes;
    try {
        const fs::path existing = nearest_existing(folder);
        facts.existing = existing.string();
        require_writable(folder);
        facts.free_bytes = static_cast<std::int64_t>(room_for(folder));
        const std::string path = train::leftover_name((existing / ".lockstep-doctor").string());
        const std::string text =
            hex(hash64(path, static_cast<std::uint64_t>(Clock::now().time_since_epoch().count())));
        looked.trial = std::make_shared<TrialFile>(path, text);
        facts.write_bytes_per_s = write_rate(looked.trial->path() + ".data", facts.free_bytes);
    } catch (const std::exception& error) {
        const std::string what = error.what();  // names -mf or the unwritable file
        facts.problem = what.starts_with("-mf") ? what
                                                : "-mf " + folder + ": takes no file (" + what +
                                                      "); choose another folder";
    }
    return looked;
}

}  // namespace

TrialFile::TrialFile(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)) {
    train::OutputFile file(path_, train::OutputFile::Mode::create);
    file.write(text_);
    file.sync();
    file.close();
}

TrialFile::~TrialFile() {
    std::error_code none;
    fs::remove(path_, none);
}

FolderFacts look_at_folder(const std::string& folder, std::int64_t checkpoints_bytes,
                           int timeout_ms, std::shared_ptr<TrialFile>& trial) {
    auto looked =
        run_with_timeout(milliseconds(timeout_ms) + write_time,
                         [folder, checkpoints_bytes] { return look(folder, checkpoints_bytes); });
    if (looked) {
        trial = std::move(looked->trial);
        return looked->facts;
    }
    FolderFacts facts;
    facts.path = facts.existing = folder;
    facts.problem = folder + ": did not answer within " + seconds_text(timeout_ms / 1e3) +
                    "; is its file server up?";
    return facts;
}

std::string look_for(const std::string& path, const std::string& text, int timeout_ms) {
    constexpr int to_open_ms = 2'000;
    const auto seen =
        run_with_timeout(milliseconds(timeout_ms + to_open_ms), [path, text, timeout_ms] {
            const auto deadline = Clock::now() + milliseconds(timeout_ms);
            while (true) {
                std::ifstream file(path);
                std::string line;
                std::getline(file, line);
                if (line == text) return true;
                if (Clock::now() >= deadline) return false;
                std::this_thread::sleep_for(milliseconds(50));
            }
        });
    if (!seen) return "did not answer within " + seconds_text((timeout_ms + to_open_ms) / 1e3);
    return *seen ? "" : "a file that rank 0 wrote there is not seen here";
}

}  // namespace lockstep::launcher::doctor
