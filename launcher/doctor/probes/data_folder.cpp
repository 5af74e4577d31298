// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/data_folder.hpp"

#include "data/storage/dataset.hpp"
#include "data/storage/read_shard.hpp"
#include "data/storage/verify_shard.hpp"
#include "launcher/doctor/probes/run_with_timeout.hpp"
#include "launcher/text/units.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher::doctor {

namespace {

using std::chrono::milliseconds;

std::string hash_of(const std::string& folder) {
    return hex(hash_file(folder + "/" + data::format::dataset_file));
}

std::string index_problem(const data::Dataset& dataset) {
    try {
        const std::string path = dataset.directory() + "/" + data::format::index_file;
        if (!path_exists(path)) return path + ": is not there";
        (void)data::verify_index(dataset);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

ShardFacts look_at(const data::Dataset& dataset, const data::SplitInfo& split, std::size_t number,
                   Clock::time_point deadline) {
    ShardFacts facts;
    facts.file = split.shards[number].file;
    facts.rows = static_cast<std::int64_t>(split.shards[number].rows);
    try {
        facts.missing = !path_exists(dataset.shard_path(split.shards[number]));
        if (facts.missing) return facts;
        const data::ShardReading reading = data::read_shard(dataset, split, number, deadline);
        facts.rows_read = reading.rows_read;
        facts.hash = hex(reading.hash);
    } catch (const Error& error) {
        facts.problem = error.what();
    }
    return facts;
}

struct LookedData {
    std::string problem, hash, warning;
    std::vector<ShardFacts> shards;
};

LookedData look(const std::string& folder, int part, int parts, milliseconds read_for) {
    LookedData looked;
    try {
        const data::Dataset dataset = data::Dataset::open(folder);
        looked.hash = hash_of(folder);
        looked.warning = index_problem(dataset);
        std::size_t left = 0;
        for (const auto& split : dataset.info().splits) left += split.shards.size();
        const auto end = Clock::now() + read_for;
        int number = 0;
        for (const data::SplitInfo& split : dataset.info().splits) {
            for (std::size_t i = 0; i < split.shards.size(); ++i, --left) {
                if (number++ % parts != part) continue;
                // Every remaining shard gets an equal share of the remaining time, so that none is
                // left out.
                const auto turns = static_cast<std::int64_t>(left) / parts + 1;
                const auto share = std::max(end - Clock::now(), Clock::duration(0)) / turns;
                looked.shards.push_back(look_at(dataset, split, i, Clock::now() + share));
            }
        }
    } catch (const std::exception& error) {
        looked.problem = error.what();
    }
    return looked;
}

}  // namespace

void look_at_data(const std::string& folder, int part, int parts, milliseconds read_for,
                  int timeout_ms, RankObservations& sight) {
    auto looked = run_with_timeout(
        read_for + milliseconds(timeout_ms),
        [folder, part, parts, read_for] { return look(folder, part, parts, read_for); });
    if (!looked) {
        sight.data_problem =
            folder + ": reading did not end within " +
            seconds_text(static_cast<double>(read_for.count() + timeout_ms) / 1e3) +
            "; is its file server up?";
        return;
    }
    sight.data_problem = std::move(looked->problem);
    sight.data_hash = std::move(looked->hash);
    sight.data_warning = std::move(looked->warning);
    sight.shards = std::move(looked->shards);
}

}  // namespace lockstep::launcher::doctor
