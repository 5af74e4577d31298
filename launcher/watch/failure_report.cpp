// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/failure_report.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <vector>

#include "launcher/text/utc.hpp"
#include "runtime/comm/nccl/nccl_join.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/json_text.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* file_name = "/failure.json";

std::string seconds(std::int64_t milliseconds) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << static_cast<double>(milliseconds) / 1000 << " s";
    return text.str();
}

std::int64_t still_ms(const comm::Sighting& rank) {
    return rank.silent_ms + (rank.record ? rank.record->still_ms : 0);
}

std::string headline(const comm::Verdict& verdict, const comm::Sighting& rank) {
    std::string text = "the run has failed: rank " + std::to_string(verdict.rank);
    if (!rank.record) return text + " was never heard of, and is gone";
    text += " on " + rank.record->host;
    const std::string position = rank.record->position();
    switch (verdict.cause) {
        case comm::Cause::failed:
            return text + " failed (" + position + "): " + rank.record->error;
        case comm::Cause::lost:
            if (rank.broken)
                return text +
                       " lost its connections: it was killed, or the network reset them; "
                       "last seen: " +
                       position;
            return text + " is gone: killed, crashed, or its host is down; last seen: " + position;
        case comm::Cause::silent:
            return text +
                   " gives no sign: stopped, or cut off from the network; last seen: " + position +
                   ", for " + seconds(still_ms(rank));
        case comm::Cause::stuck:
            return text + " does not move on: " + position + ", for " + seconds(still_ms(rank)) +
                   "; the others wait for it";
        case comm::Cause::unknown:
            break;
    }
    if (rank.record->waiting && rank.record->operation == comm::nccl_join)
        return "the run has failed: joining by NCCL: no answer for " + seconds(still_ms(rank)) +
               ", and no rank is missing: " + comm::advice_on_nccl_join;
    return "the run has failed: all ranks wait for one another; rank " +
           std::to_string(verdict.rank) + " on " + rank.record->host +
           " is the furthest behind: " + position + ", for " + seconds(still_ms(rank));
}

// Writes ranks as "0, 2-7".
std::string ranges(const std::vector<int>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
        if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
        i = last + 1;
    }
    return text;
}

const comm::Sighting& culprit_of(const comm::WatchNews& news) {
    return news.ranks.at(static_cast<std::size_t>(news.verdict.rank));
}

std::string place_of(const comm::Sighting& rank, const comm::WatchNews& news) {
    if (!rank.record) return rank.lost ? "gone" : "not heard of";
    std::string text = rank.record->position();
    // The verdict names only one rank when a whole host is cut off, so the other ranks of the host
    // are marked here.
    const bool silent = news.verdict.cause == comm::Cause::silent &&
                        rank.silent_ms > culprit_of(news).silent_ms / 2;
    if (silent) text += "; no sign of it either";
    if (rank.record->condition == comm::Condition::failed)
        text += "; failed: " + rank.record->error;
    return rank.lost ? text + "; gone since" : text;
}

const char* condition_name(comm::Condition condition) {
    switch (condition) {
        case comm::Condition::running:
            return "running";
        case comm::Condition::failed:
            return "failed";
        case comm::Condition::cut_off:
            return "cut off";
        case comm::Condition::left:
            return "left";
    }
    return "unknown";
}

nlohmann::json describe(const comm::Sighting& rank, std::chrono::system_clock::time_point now) {
    nlohmann::json json{{"lost", rank.lost}};
    if (!rank.record) return json;
    const comm::WatchRecord& record = *rank.record;
    const std::chrono::milliseconds still(still_ms(rank));
    json["host"] = record.host;
    json["process"] = record.process;
    json["condition"] = condition_name(record.condition);
    json["step"] = record.step;
    json["phase"] = record.phase;
    json["file"] = record.file;
    json["operation"] = record.operation;
    json["waiting"] = record.waiting;
    json["since"] = utc(now - still);
    json["still_s"] = std::chrono::duration<double>(still).count();
    json["silent_s"] = rank.silent_ms / 1000.0;
    json["error"] = record.error;
    json["peak_bytes"] = record.peak_bytes;
    json["work_s"] = static_cast<double>(record.window.total_us()) / comm::Pace::window_steps / 1e6;
    return json;
}

nlohmann::json describe_all(const std::vector<comm::Sighting>& ranks,
                            std::chrono::system_clock::time_point now) {
    nlohmann::json json = nlohmann::json::array();
    for (const comm::Sighting& rank : ranks) {
        json.push_back(describe(rank, now));
        json.back()["rank"] = json.size() - 1;
    }
    return json;
}

// Serves file systems without links. A reader may see a part of the file for a moment.
Published publish_without_link(const std::string& path, const std::string& json) {
    const FileDescriptor out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!out) return errno == EEXIST ? Published::by_another_rank : Published::not_writable;
    if (::write(out.raw(), json.data(), json.size()) == static_cast<ssize_t>(json.size()))
        return Published::here;
    ::unlink(path.c_str());
    return Published::not_writable;
}

nlink_t links_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_nlink : 0;
}

}  // namespace

std::string failure_lines(const comm::WatchNews& news) {
    const comm::Sighting& culprit = culprit_of(news);
    std::string text = headline(news.verdict, culprit) + "\n";
    std::map<std::string, std::vector<int>> by_place;
    for (int rank = 0; rank < static_cast<int>(news.ranks.size()); ++rank) {
        if (rank == news.verdict.rank) continue;
        by_place[place_of(news.ranks[static_cast<std::size_t>(rank)], news)].push_back(rank);
    }
    for (const auto& [place, ranks] : by_place) {
        text += (ranks.size() == 1 ? "  rank " : "  ranks ") + ranges(ranks) + ": " + place + "\n";
    }
    if (!culprit.record || culprit.record->stack.empty()) return text;
    text += "  the main thread of rank " + std::to_string(news.verdict.rank) + ":\n";
    std::istringstream stack(culprit.record->stack);
    for (std::string line; std::getline(stack, line);) text += "    " + line + "\n";
    return text;
}

std::string failure_json(const comm::WatchNews& news, std::chrono::system_clock::time_point now) {
    const comm::Sighting& culprit = culprit_of(news);
    nlohmann::json json = describe(culprit, now);
    json["time"] = utc(now);
    json["rank"] = news.verdict.rank;
    json["cause"] = name(news.verdict.cause);
    json["report"] = headline(news.verdict, culprit);
    json["stack"] = nlohmann::json::array();
    std::istringstream stack(culprit.record ? culprit.record->stack : "");
    for (std::string line; std::getline(stack, line);) json["stack"].push_back(line);
    json["ranks"] = describe_all(news.ranks, now);
    return dump_json(json, 2) + "\n";
}

std::string ranks_json(const std::vector<comm::Sighting>& ranks, const train::RunLimits& limits,
                       std::chrono::system_clock::time_point now) {
    const nlohmann::json json{{"time", utc(now)},
                              {"limits",
                               {{"num_epochs", limits.num_epochs},
                                {"max_train_steps", limits.max_train_steps},
                                {"max_train_time_s", limits.max_train_time_s}}},
                              {"ranks", describe_all(ranks, now)}};
    return dump_json(json, 2) + "\n";
}

Published publish_failure(const std::string& folder, const std::string& json) {
    // A run may fail before it has made its folder.
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    const std::string path = folder + file_name;
    // Ranks on several hosts may have the same process number.
    std::random_device random;
    const std::string temporary =
        path + "." + std::to_string(random()) + "-" + std::to_string(random());
    {
        // The name must be new: in a folder of several people it could be a link to a file.
        const FileDescriptor out(
            ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (!out) return Published::not_writable;
        if (::write(out.raw(), json.data(), json.size()) != static_cast<ssize_t>(json.size())) {
            ::unlink(temporary.c_str());
            return Published::not_writable;
        }
    }
    // A link, unlike a rename, never replaces a file that another rank has written.
    const int failure = ::link(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
    // NFS may repeat a call whose answer was lost. The file then exists because of this rank.
    const bool linked = failure == 0 || links_of(temporary) == 2;
    const bool taken = !linked && failure == EEXIST;
    ::unlink(temporary.c_str());
    if (linked) return Published::here;
    return taken ? Published::by_another_rank : publish_without_link(path, json);
}

void forget_failure(const std::string& folder) {
    std::error_code ignored;
    std::vector<std::filesystem::path> reports{folder + file_name};
    // A rank that was killed while it wrote its report leaves the temporary file.
    const std::string temporary = std::string(file_name).substr(1) + ".";
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.path().filename().string().starts_with(temporary))
            reports.push_back(entry.path());
    for (const auto& report : reports) std::filesystem::remove(report, ignored);
}

}  // namespace lockstep::launcher
