// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/pieces/piece_sink.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <thread>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/train/checkpoint/checkpoint_tensors.hpp"
#include "runtime/train/pieces/shared_folder.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/runtime/train/pieces/owned_run.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using train::CheckpointKind;
using train::Saving;
using Names = std::set<std::string>;

namespace {

// One of the ranks that save together.
struct Rank {
    comm::Communicator& all;
    OwnedRun& owned;
    train::PieceSink& sink;

    train::TrainerState at(std::int64_t step) const {
        train::TrainerState state;
        state.step = step;
        return state;
    }
    // Saves as a run of these values at this step does.
    void save(CheckpointKind kind, std::int64_t step) {
        owned.fill(static_cast<std::uint64_t>(step));
        sink.save(kind, at(step));
        owned.clear();  // the sink has its copy
    }
};

struct Sinks : LoggedFolder {
    int max_failures = 3;
    int writers = 0;  // 0: all ranks
    Saving saving = Saving::beside_training;

    void run(const std::vector<double>& borders, const std::function<void(Rank&)>& body) {
        const int ranks = static_cast<int>(borders.size()) - 1;
        comm::run_as_threads(ranks, [&](comm::Communicator& all) {
            const auto self = static_cast<std::size_t>(all.rank());
            OwnedRun owned(1, borders[self], borders[self + 1]);
            std::ostringstream silent;
            Log other(silent, Verbosity::normal, all.rank(), "");
            train::PieceSink sink(
                {all, {all.rank(), writers == 0 ? ranks : writers}, "here", owned}, folder.path(),
                {{}, max_failures, saving}, all.rank() == 0 ? log : other, {"{}", "00ff", ""}, {});
            Rank rank{all, owned, sink};
            body(rank);
        });
    }
    void run(int ranks, const std::function<void(Rank&)>& body) {
        std::vector<double> borders;
        for (int i = 0; i <= ranks; ++i) borders.push_back(static_cast<double>(i) / ranks);
        run(borders, body);
    }
    std::string checkpoint(int step) const {
        return folder / ("checkpoints/step-0000000" + std::to_string(step));
    }
    bool loads(const std::string& saved, std::uint64_t seed) const {
        OwnedRun all(0, 0, 1);
        train::verify_checkpoint(saved);
        (void)train::load_owned(saved, all.current());
        return all.holds(seed);
    }
    std::vector<float> model() const {
        const OwnedRun shape(0, 0, 1);
        std::vector<float> values(shape.table().flat_size());
        train::load_weights(folder / "model.safetensors", shape.table(), view_of(values));
        return values;
    }
};

}  // namespace

TEST_CASE_FIXTURE(Sinks, "ranks write together, and any number of ranks reads") {
    for (const int ranks : {1, 2, 4, 7}) {
        CAPTURE(ranks);
        run(ranks, [](Rank& rank) {
            rank.save(CheckpointKind::latest, 3);
            rank.sink.finish();
        });
        CHECK(folder.names("checkpoints") == Names{"step-00000003"});
        CHECK(folder.names("checkpoints/step-00000003").size() == 3 + static_cast<unsigned>(ranks));
        CHECK(loads(checkpoint(3), 3));
        for (const int readers : {2, 3})
            for (int reader = 0; reader < readers; ++reader) {
                OwnedRun part = owned_run(0, reader, readers);
                CHECK(train::load_owned(checkpoint(3), part.current()).empty());
                CHECK(part.holds(3));
            }
        std::filesystem::remove_all(folder / "checkpoints");
    }
}

TEST_CASE_FIXTURE(Sinks, "a save goes on when all ranks have written") {
    writers = 2;  // the third holds the same as the first
    run({0, 0.5, 1, 1}, [this](Rank& rank) {
        CHECK_FALSE(rank.sink.part_is_written());
        rank.save(CheckpointKind::latest, 1);
        while (!rank.sink.part_is_written()) std::this_thread::yield();
        rank.sink.parts_are_written();
        CHECK_FALSE(rank.sink.part_is_written());
        rank.sink.finish();
    });
    CHECK(loads(checkpoint(1), 1));
}

TEST_CASE_FIXTURE(Sinks, "the best weights become one plain file") {
    for (const Saving each : {Saving::beside_training, Saving::training_waits}) {
        saving = each;
        run(3, [](Rank& rank) {
            rank.save(CheckpointKind::best, 2);
            rank.save(CheckpointKind::latest, 2);
            rank.save(CheckpointKind::latest, 3);
            rank.save(CheckpointKind::latest, 3);  // it is saved already
            rank.sink.finish();
        });
        CHECK(folder.names() == Names{"checkpoints", "config.json", "model.safetensors"});
        CHECK(folder.names("checkpoints") == Names{"step-00000002", "step-00000003"});
        CHECK(loads(checkpoint(2), 2));
        OwnedRun best(2, 0, 1);
        const auto weights = model();
        const auto first = best.current().weights.front().values;
        CHECK(std::equal(first.begin(), first.end(), weights.begin()));
        std::filesystem::remove_all(folder / "checkpoints");
    }
}

TEST_CASE_FIXTURE(Sinks, "what is not finite is not saved, and the last checkpoint stays") {
    run(1, [](Rank& rank) {
        rank.save(CheckpointKind::latest, 4);
        rank.sink.finish();
        rank.owned.fill(5);
        rank.owned.current().optimizer[0].values[2] = std::numeric_limits<float>::quiet_NaN();
        rank.sink.save(CheckpointKind::latest, rank.at(5));
        check_contains(failure(ErrorKind::data, [&] { rank.sink.finish(); }),
                       "nothing is saved: tensor layer.weight.exp_avg is not finite");
    });
    CHECK(folder.names("checkpoints").contains("step-00000004"));
    CHECK_FALSE(folder.names("checkpoints").contains("step-00000005"));
}

TEST_CASE_FIXTURE(Sinks, "one rank that cannot write leaves the checkpoint that was there") {
    const std::vector<double> borders{0, 0.1, 1};  // the second rank's files are the large ones
    run(borders, [](Rank& rank) {
        rank.save(CheckpointKind::latest, 4);
        rank.sink.finish();
    });
    run(borders, [this](Rank& rank) {
        std::optional<FileSizeLimit> limit;
        if (rank.all.rank() == 0) limit.emplace(2048);
        rank.all.barrier("limited");
        rank.all.finish();
        rank.save(CheckpointKind::latest, 5);
        rank.save(CheckpointKind::best, 5);
        rank.save(CheckpointKind::latest, 6);  // the best weights are tried again first
        rank.all.barrier("tried");
        rank.all.finish();
        limit.reset();
        rank.all.barrier("free");
        rank.all.finish();
        if (rank.all.rank() == 0) {
            CHECK(folder.names("checkpoints") == Names{"step-00000004"});
            check_contains(lines.str(),
                           "the checkpoint of step 5 is not saved (EFBIG): rank 1 on here: ");
            check_contains(lines.str(), "the model with the weights of step 5 is not saved");
        }
        rank.save(CheckpointKind::latest, 7);
        rank.sink.finish();
    });
    CHECK(folder.names("checkpoints") == Names{"step-00000004", "step-00000007"});
    CHECK(loads(checkpoint(7), 7));
    OwnedRun best(5, 0, 1);
    const auto weights = model();
    CHECK(best.current().weights.front().values[3] == weights[3]);
}

TEST_CASE_FIXTURE(Sinks, "the last failure in a row ends the run") {
    max_failures = 1;
    const std::string told = failure(ErrorKind::io, [this] {
        const FileSizeLimit limit(2048);
        run(2, [](Rank& rank) {
            rank.save(CheckpointKind::latest, 5);
            rank.sink.finish();
        });
    });
    check_contains(told, "the run ends after 1 failures in a row");
    CHECK(folder.names("checkpoints").empty());
}

TEST_CASE_FIXTURE(Sinks, "ranks find out whether they share a folder") {
    comm::run_as_threads(3, [this](comm::Communicator& all) {
        CHECK(train::can_all_write(all, 3, folder.path()));
        CHECK_FALSE(train::can_all_write(all, 2, folder / "nowhere"));
        const std::string file = folder / "file";
        if (all.rank() == 0) write_text(file, "text");
        CHECK(train::seen_by_all(all, all.rank() == 0 ? file : "") == file);
        CHECK(train::seen_by_all(all, "").empty());
        CHECK(train::seen_by_all(all, folder / "nothing").empty());
    });
    CHECK(folder.names() == Names{"file"});
}
