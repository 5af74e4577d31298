// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

constexpr double slowest_checkpoint_s = 60;
constexpr double slowest_bytes_per_s = 10e6;

// Describes a shard as all hosts that have it see it.
struct Copies {
    std::map<std::string, std::vector<int>> by_hash;  // ranks; only those that read the whole shard
    std::vector<int> missing_on;
    std::size_t seen = 0;
};

std::map<std::string, Copies> copies_of(const Facts& facts) {
    std::map<std::string, Copies> copies;
    for (const RankObservations& sight : facts.sights) {
        for (const ShardFacts& shard : sight.shards) {
            Copies& all = copies[shard.file];
            if (shard.missing) {
                all.missing_on.push_back(sight.rank);
                continue;
            }
            ++all.seen;
            if (shard.problem.empty() && shard.rows_read == shard.rows)
                all.by_hash[shard.hash].push_back(sight.rank);
        }
    }
    return copies;
}

void judge_copies(const Facts& facts, std::vector<Finding>& found) {
    Grouped nowhere(facts, Severity::breaks, "data"), partly(facts, Severity::warns, "data");
    for (const auto& [file, copies] : copies_of(facts)) {
        for (const int rank : copies.missing_on) {
            if (copies.seen == 0) {
                nowhere.add(rank, facts.data + "/" + file + " is not there, on any host",
                            "copy it, or run 'lockstep prepare' again");
            } else {
                partly.add(rank, facts.data + "/" + file + " is not there, but on other hosts",
                           "fine where each rank reads its own shard; else copy it");
            }
        }
        if (copies.by_hash.size() < 2) continue;
        std::vector<int> ranks;
        for (const auto& [hash, some] : copies.by_hash)
            ranks.insert(ranks.end(), some.begin(), some.end());
        found.push_back({Severity::breaks, "data", where(facts, ranks),
                         facts.data + "/" + file + " differs between the hosts",
                         "copy the data set anew to all of them"});
    }
    append(found, nowhere.findings());
    append(found, partly.findings());
}

void judge_folders(const Facts& facts, std::vector<Finding>& found) {
    const std::string* first = nullptr;
    Grouped differs(facts, Severity::breaks, "data");
    for (const RankObservations& sight : facts.sights) {
        if (sight.data_hash.empty()) continue;
        if (first == nullptr) first = &sight.data_hash;
        if (sight.data_hash != *first)
            differs.add(sight.rank,
                        facts.data + " holds another data set than on rank " +
                            std::to_string(facts.sights.front().rank) + " (dataset.json differs)",
                        "copy the data set anew to all hosts");
    }
    append(found, differs.findings());
}

}  // namespace

std::vector<Finding> judge_data(const Facts& facts) {
    std::vector<Finding> found;
    // The problems' texts already say what to do.
    Grouped broken(facts, Severity::breaks, "data"), unused(facts, Severity::warns, "data");
    for (const RankObservations& sight : facts.sights) {
        if (!sight.data_warning.empty())
            unused.add(sight.rank, sight.data_warning,
                       "`lockstep plan` needs this file; a run goes on without it");
        if (!sight.data_problem.empty()) broken.add(sight.rank, sight.data_problem, "");
        for (const ShardFacts& shard : sight.shards) {
            if (!shard.problem.empty()) broken.add(sight.rank, shard.problem, "");
        }
    }
    append(found, broken.findings());
    append(found, unused.findings());
    judge_folders(facts, found);
    judge_copies(facts, found);
    return found;
}

std::vector<Finding> judge_folder(const Facts& facts) {
    const FolderFacts& folder = facts.folder;
    std::vector<Finding> found;
    if (folder.path.empty()) return found;
    if (!folder.problem.empty()) {
        found.push_back({Severity::breaks, "folder", where(facts, {0}), folder.problem, ""});
        return found;
    }
    const std::string path = "-mf " + folder.path;
    if (folder.checkpoints_bytes > folder.free_bytes) {
        found.push_back({Severity::breaks, "folder", where(facts, {0}),
                         path + ": the checkpoints take " + bytes_text(folder.checkpoints_bytes) +
                             ", but " + bytes_text(folder.free_bytes) + " are free",
                         "free some space there, or choose another -mf"});
    }
    const double seconds =
        static_cast<double>(folder.checkpoints_bytes) / std::max(folder.write_bytes_per_s, 1.0);
    const bool slow =
        folder.write_bytes_per_s > 0 &&
        (folder.write_bytes_per_s < slowest_bytes_per_s || seconds > slowest_checkpoint_s);
    if (slow) {
        found.push_back({Severity::warns, "folder", where(facts, {0}),
                         path + ": is written at " + rate_text(folder.write_bytes_per_s) +
                             (folder.checkpoints_bytes > 0
                                  ? ", so the checkpoints take " + seconds_text(seconds)
                                  : ""),
                         "choose a faster file system, or save less often; a job's warning before "
                         "its time limit has to be longer (submit --signal USR1@SECONDS)"});
    }
    Grouped unseen(facts, Severity::breaks, "folder");
    for (const RankObservations& sight : facts.sights) {
        if (!sight.folder_problem.empty())
            unseen.add(sight.rank, folder.existing + ": " + sight.folder_problem,
                       "give a -mf that is the same folder on all hosts: a run that continues "
                       "reads its checkpoint on each");
    }
    append(found, unseen.findings());
    return found;
}

}  // namespace lockstep::launcher::doctor
