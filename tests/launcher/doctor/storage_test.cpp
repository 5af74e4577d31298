// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "launcher/doctor/probes/data_folder.hpp"
#include "launcher/doctor/probes/output_folder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/written_dataset.hpp"

using namespace lockstep::launcher;
using namespace lockstep::launcher::doctor;
using namespace lockstep::tests;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr int enough_ms = 5'000;

struct Data {
    ScratchFolder scratch;
    std::string path = scratch / "data";

    Data() {
        fs::create_directory(path);
        lockstep::tests::write_dataset(path, lockstep::tests::random_shard(1, 9'000, 12),
                                       lockstep::tests::random_shard(2, 30, 12), 2);
    }
    RankObservations look(int part = 0, int parts = 1,
                          std::chrono::milliseconds read_for = 20s) const {
        RankObservations sight;
        look_at_data(path, part, parts, read_for, enough_ms, sight);
        return sight;
    }
    std::string shard() const { return path + "/train-00001-of-00002.h5"; }
};

}  // namespace

TEST_CASE("a folder is measured, and nothing stays in it") {
    const ScratchFolder scratch;
    std::shared_ptr<TrialFile> trial;
    const FolderFacts facts = look_at_folder(scratch / "deep/model", 17, enough_ms, trial);
    CHECK(facts.problem.empty());
    CHECK(facts.existing + "/" == scratch / "");
    CHECK(facts.free_bytes > 0);
    CHECK(facts.checkpoints_bytes == 17);
    CHECK(facts.write_bytes_per_s > 0);
    REQUIRE(trial);
    CHECK(look_for(trial->path(), trial->text(), enough_ms).empty());
    CHECK(look_for(trial->path(), "another text", 10) ==
          "a file that rank 0 wrote there is not seen here");
    CHECK(look_for(scratch.path(), trial->text(), 10) ==  // opens, but cannot be read
          "a file that rank 0 wrote there is not seen here");
    const std::string path = trial->path();
    trial.reset();
    CHECK_FALSE(look_for(path, "", 10).empty() == fs::exists(path));
    CHECK(fs::is_empty(scratch / ""));
}

TEST_CASE("a folder that takes no files") {
    std::shared_ptr<TrialFile> trial;
    CHECK_FALSE(look_at_folder("/proc/model", 0, enough_ms, trial).problem.empty());
    const ScratchFolder scratch;
    write_text(scratch / "file", "");
    CHECK(look_at_folder(scratch / "file/model", 0, enough_ms, trial).problem.find("is a file") !=
          std::string::npos);
    CHECK_FALSE(trial);
}

TEST_CASE("sound data: each rank of a host reads its part, equal copies give equal hashes") {
    const Data data;
    const RankObservations all = data.look();
    CHECK(all.data_problem.empty());
    REQUIRE(all.shards.size() == 3);
    for (const ShardFacts& shard : all.shards) {
        CHECK(shard.problem.empty());
        CHECK(shard.rows_read == shard.rows);
    }
    CHECK(data.look(0, 2).shards.size() + data.look(1, 2).shards.size() == 3);
    CHECK(data.look().shards[1].hash == all.shards[1].hash);
    CHECK(all.shards[0].hash != all.shards[1].hash);
}

TEST_CASE("little time reads a part of each shard") {
    const Data data;
    for (const ShardFacts& shard : data.look(0, 1, 0ms).shards) {
        CHECK(shard.problem.empty());
        CHECK(shard.rows_read > 0);
    }
    CHECK(data.look(0, 1, 0ms).shards[0].rows_read < data.look().shards[0].rows_read);
}

TEST_CASE("damage behind a shard's first rows is found, and named by its file") {
    const Data data;
    const auto size = fs::file_size(data.shard());
    std::fstream file(data.shard(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2));
    file << std::string(64, '\xAA');
    file.close();
    const RankObservations sight = data.look();
    CHECK(sight.shards[0].problem.empty());
    CHECK(sight.shards[1].problem.find("train-00001-of-00002.h5") != std::string::npos);
}

TEST_CASE("data that is not there, a shard of it, or not what it should be") {
    const Data data;
    const std::string hash = data.look().data_hash;
    fs::remove(data.shard());
    CHECK(data.look().shards[1].missing);
    fs::remove(data.path + "/index.h5");  // only `lockstep plan` needs it
    CHECK(data.look().data_hash == hash);
    CHECK(data.look().data_problem.empty());
    CHECK(data.look().data_warning.find("index.h5: is not there") != std::string::npos);
    const std::string json = read_text(data.path + "/dataset.json");
    write_text(data.path + "/dataset.json", json + " ");
    CHECK(data.look().data_hash != hash);
    write_text(data.path + "/dataset.json", "{");
    CHECK_FALSE(data.look().data_problem.empty());
    fs::remove_all(data.path);
    CHECK(data.look().data_problem.find("no such folder") != std::string::npos);
}
