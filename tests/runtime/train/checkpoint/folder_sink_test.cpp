// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/folder_sink.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <future>
#include <limits>
#include <mutex>
#include <new>
#include <sstream>
#include <thread>
#include <utility>

#include "runtime/core/error.hpp"
#include "tests/runtime/train/checkpoint/saved_run.hpp"
#include "tests/runtime/train/file_size_limit.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using train::CheckpointKind;
using Names = std::set<std::string>;

namespace {

// Lets others wait until something is written into it.
class Released : public std::stringbuf {
public:
    void wait() { written_.wait(); }

protected:
    std::streamsize xsputn(const char* text, std::streamsize count) override {
        std::call_once(once_, [this] { promise_.set_value(); });
        return std::stringbuf::xsputn(text, count);
    }

private:
    std::once_flag once_;
    std::promise<void> promise_;
    std::shared_future<void> written_ = promise_.get_future().share();
};

struct Sinks : LoggedFolder {
    SavedRun run{7};

    train::FolderSink sink(int rank, int max_failures = 3) {
        return {rank,
                folder.path(),
                {{}, max_failures},
                log,
                [this] { return run.tensors(); },
                {"{}", "00ff", ""},
                run.record};
    }
    train::TrainerState at(std::int64_t step) const {
        train::TrainerState state = run.record.trainer;
        state.step = step;
        return state;
    }
    std::string newest() const { return folder / "checkpoints/step-00000008"; }
};

}  // namespace

TEST_CASE_FIXTURE(Sinks, "the sink writes on rank 0 only") {
    train::FolderSink silent = sink(1);
    silent.save(CheckpointKind::latest, run.record.trainer);
    silent.save(CheckpointKind::best, run.record.trainer);
    silent.finish();
    CHECK(folder.names().empty());
    train::FolderSink writer = sink(0);
    writer.save(CheckpointKind::best, at(8));
    writer.finish();
    CHECK(folder.names() == Names{"config.json", "model.safetensors"});
    writer.save(CheckpointKind::latest, at(8));
    writer.finish();
    CHECK(folder.names("checkpoints") == Names{"step-00000008"});
    CHECK(train::load_checkpoint(newest(), run.tensors()).trainer.step == 8);
}

TEST_CASE_FIXTURE(Sinks, "training goes on while a copy is written, and waits for the next") {
    int copies = 0;
    Released released;
    std::ostream out(&released);
    Log waiting(out, Verbosity::normal, 0, "");
    train::FolderSink writer(
        0, folder.path(), {}, waiting,
        [&] {
            ++copies;
            return run.tensors();
        },
        {"{}", "00ff", ""}, run.record);
    // No commit comes before the line that tells of the waiting.
    writer.commit_after([&] { released.wait(); });
    writer.save(CheckpointKind::best, at(8));
    writer.save(CheckpointKind::latest, at(8));
    CHECK(copies == 1);
    CHECK(folder.names().empty());
    writer.save(CheckpointKind::latest, at(9));
    CHECK(copies == 2);
    writer.finish();
    CHECK(folder.names("checkpoints") == Names{"step-00000008", "step-00000009"});
    CHECK(folder.names().contains("model.safetensors"));
    check_contains(released.str(), "training waits for a checkpoint that is still being written");
}

TEST_CASE_FIXTURE(Sinks, "if training waits, a save is written from its own tensors") {
    train::FolderSink writer(
        0, folder.path(), {{}, -1, train::Saving::training_waits}, log,
        [this] { return run.tensors(); }, {"{}", "00ff", ""}, run.record);
    writer.take_memory_early([] { throw std::bad_alloc(); });
    writer.check();
    const SavedRun best(7);
    writer.save(CheckpointKind::latest, at(8));
    CHECK(folder.names("checkpoints") == Names{"step-00000008"});
    {
        const FileSizeLimit limit(100);
        writer.save(CheckpointKind::best, at(8));
    }
    check_contains(lines.str(), "the model with the weights of step 8 is not saved (EFBIG)");
    for (float& value : run.master) value = 1;  // training goes on
    writer.save(CheckpointKind::latest, at(9));
    SavedRun loaded(1), latest(1);
    train::load_weights(folder.path(), loaded.table, view_of(loaded.master));
    CHECK(std::memcmp(loaded.master.data(), best.master.data(), best.master.size() * 4) == 0);
    train::load_checkpoint(folder / "checkpoints/step-00000009", latest.tensors());
    CHECK(latest.master[0] == 1);
    CHECK(lines.str().find("training waits") == std::string::npos);
}

TEST_CASE_FIXTURE(Sinks, "a state that is saved is not saved again") {
    train::FolderSink writer = sink(0);
    writer.save(CheckpointKind::latest, at(8));
    writer.finish();
    const auto first = std::filesystem::last_write_time(newest() + "/state.json");
    writer.save(CheckpointKind::latest, at(8));
    writer.finish();
    CHECK(std::filesystem::last_write_time(newest() + "/state.json") == first);
    train::TrainerState other = at(8);
    other.validation.best = 2;
    writer.save(CheckpointKind::latest, other);
    writer.finish();
    CHECK(train::load_checkpoint(newest(), run.tensors()).trainer.validation.best == 2);
}

TEST_CASE_FIXTURE(Sinks, "saves that fail are told and harm nothing") {
    train::FolderSink writer = sink(0);
    const auto fails_with = [&](const std::string& text) {
        check_contains(failure(ErrorKind::io, [&] { writer.finish(); }), text);
    };
    {
        const FileSizeLimit limit(100);
        writer.save(CheckpointKind::latest, at(7));
        fails_with("there is no good checkpoint yet");
        check_contains(lines.str(), "warning: the checkpoint of step 7 is not saved (EFBIG): " +
                                        (folder / "checkpoints/step-00000007.tmp-"));
    }
    writer.save(CheckpointKind::latest, at(8));
    writer.save(CheckpointKind::best, at(8));
    writer.finish();
    const FileSizeLimit limit(100);
    lines.str("");
    writer.save(CheckpointKind::latest, at(9));
    fails_with("the newest good checkpoint is " + newest());
    check_contains(lines.str(), "cannot be written: File too large");
    CHECK(folder.names("checkpoints") == Names{"step-00000008"});
    CHECK(folder.names() == Names{"checkpoints", "config.json", "model.safetensors"});
    CHECK(train::load_checkpoint(newest(), run.tensors()).trainer.step == 8);
}

TEST_CASE_FIXTURE(Sinks, "what is not finite is not saved, and the last checkpoint stays") {
    train::FolderSink writer = sink(0);
    writer.save(CheckpointKind::latest, at(8));
    writer.finish();
    const auto refused = [&](CheckpointKind kind, float& value, const std::string& tensor) {
        const float good = std::exchange(value, std::numeric_limits<float>::infinity());
        writer.save(kind, at(9));
        check_contains(failure(ErrorKind::data, [&] { writer.finish(); }),
                       "nothing is saved: tensor " + tensor + " is not finite");
        value = good;
    };
    refused(CheckpointKind::latest, run.master[3], "layer.weight");
    refused(CheckpointKind::latest, run.optimizer_values[12], "layer.bias.row");
    refused(CheckpointKind::best, run.master[3], "layer.weight");
    CHECK(folder.names("checkpoints") == Names{"step-00000008"});
    CHECK(folder.names() == Names{"checkpoints"});
}

TEST_CASE_FIXTURE(Sinks, "best weights that could not be written are tried once more") {
    train::FolderSink writer = sink(0, -1);
    const SavedRun best(7);
    {
        const FileSizeLimit limit(100);
        writer.save(CheckpointKind::best, at(8));
        check_contains(failure(ErrorKind::io, [&] { writer.finish(); }),
                       "the model with the weights of step 8 is not saved (EFBIG)");
    }
    writer.save(CheckpointKind::latest, at(9));
    writer.finish();
    SavedRun loaded(1);
    train::load_weights(folder.path(), loaded.table, view_of(loaded.master));
    CHECK(std::memcmp(loaded.master.data(), best.master.data(), best.master.size() * 4) == 0);
}

TEST_CASE_FIXTURE(Sinks, "best weights that cannot be written are kept while the copy is renewed") {
    SavedRun copied(7);
    train::FolderSink writer(
        0, folder.path(), {{}, -1}, log,
        [&] {
            copied.master = run.master;
            return copied.tensors();
        },
        {"{}", "00ff", ""}, run.record);
    const SavedRun best(7);
    const auto fails = [&](CheckpointKind kind, std::int64_t step) {
        const FileSizeLimit limit(100);
        writer.save(kind, at(step));
        failure(ErrorKind::io, [&] { writer.finish(); });
    };
    fails(CheckpointKind::best, 8);
    for (float& value : run.master) value = 1;
    for (std::int64_t step = 9; step <= 12; ++step) fails(CheckpointKind::latest, step);
    // None of these checkpoints tells of best weights that were not saved.
    CHECK_FALSE(folder.names().contains("checkpoints"));
    check_contains(failure(ErrorKind::io, [&] { writer.finish(); }),
                   "the checkpoint of step 12 is not");
    SavedRun loaded(1);
    train::load_weights(folder.path(), loaded.table, view_of(loaded.master));
    CHECK(std::memcmp(loaded.master.data(), best.master.data(), best.master.size() * 4) == 0);
    writer.save(CheckpointKind::latest, at(13));
    writer.finish();
    SavedRun latest(1);
    train::load_checkpoint(folder / "checkpoints/step-00000013", latest.tensors());
    CHECK(latest.master[0] == 1);
}

TEST_CASE_FIXTURE(Sinks,
                  "better weights take the place of best weights that could not be written") {
    train::FolderSink writer = sink(0, -1);
    {
        const FileSizeLimit limit(100);
        writer.save(CheckpointKind::best, at(8));
        failure(ErrorKind::io, [&] { writer.finish(); });
        writer.save(CheckpointKind::latest, at(9));
        failure(ErrorKind::io, [&] { writer.finish(); });
    }
    for (float& value : run.master) value = 1;
    writer.save(CheckpointKind::best, at(10));
    writer.save(CheckpointKind::latest, at(10));
    writer.finish();
    SavedRun loaded(1);
    train::load_weights(folder.path(), loaded.table, view_of(loaded.master));
    CHECK(loaded.master[0] == 1);
}

TEST_CASE_FIXTURE(Sinks, "the memory of the copy is taken once, by the thread, on rank 0") {
    const auto caller = std::this_thread::get_id();
    std::atomic<int> taken = 0;
    const auto reserve = [&] {
        if (std::this_thread::get_id() != caller) ++taken;
    };
    train::FolderSink silent = sink(1), writer = sink(0);
    silent.take_memory_early(reserve);
    silent.finish();
    CHECK(taken == 0);
    writer.take_memory_early(reserve);
    writer.save(CheckpointKind::latest, at(8));
    CHECK(taken == 1);
    writer.finish();
    CHECK(lines.str().empty());  // nothing is said of waiting
    writer.take_memory_early([] { throw std::bad_alloc(); });
    CHECK_THROWS_AS(for (;;) writer.check(), std::bad_alloc);
}

TEST_CASE_FIXTURE(Sinks, "failures in a row end the run, others do not") {
    train::FolderSink writer = sink(0, 2);
    const auto fails = [&](std::int64_t step) {
        const FileSizeLimit limit(100);
        writer.save(CheckpointKind::latest, at(step));
        return failure(ErrorKind::io, [&] { writer.finish(); });
    };
    for (const std::int64_t step : {1, 3, 5}) {
        fails(step);
        writer.save(CheckpointKind::latest, at(step + 1));
        writer.finish();
    }
    fails(7);
    const std::string text = fails(8);
    check_contains(text, "the newest good checkpoint is " + (folder / "checkpoints/step-00000006"));
    check_contains(text, "the run ends after 2 failures in a row (--max-save-failures)");
}

TEST_CASE_FIXTURE(Sinks, "a folder that another run has taken ends the run at once") {
    train::FolderSink writer = sink(0);
    writer.commit_after([] { throw Error(ErrorKind::io, "another run has the folder"); });
    for (const auto kind : {CheckpointKind::latest, CheckpointKind::best}) {
        writer.save(kind, at(8));
        CHECK_THROWS_WITH_AS(for (;;) writer.check(), "another run has the folder", Error);
    }
}
