// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/folder_sink.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "tests/runtime/train/checkpoint/saved_run.hpp"
#include "tests/runtime/train/file_size_limit.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using train::CheckpointKind;
using Names = std::set<std::string>;

namespace {

struct Sinks : LoggedFolder {
    SavedRun run{7};

    train::FolderSink sink(int rank, int max_failures = 3) {
        return {rank,
                folder.path(),
                {{}, max_failures},
                log,
                [this] { return run.tensors(); },
                {"{}", "00ff"},
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
    CHECK(folder.names().empty());
    train::FolderSink writer = sink(0);
    writer.save(CheckpointKind::best, at(8));
    CHECK(folder.names() == Names{"config.json", "model.safetensors"});
    writer.save(CheckpointKind::latest, at(8));
    CHECK(folder.names("checkpoints") == Names{"step-00000008"});
    CHECK(train::load_checkpoint(newest(), run.tensors()).trainer.step == 8);
}

TEST_CASE_FIXTURE(Sinks, "a state that is saved is not saved again") {
    train::FolderSink writer = sink(0);
    writer.save(CheckpointKind::latest, at(8));
    const auto first = std::filesystem::last_write_time(newest() + "/state.json");
    writer.save(CheckpointKind::latest, at(8));
    CHECK(std::filesystem::last_write_time(newest() + "/state.json") == first);
    train::TrainerState other = at(8);
    other.validation.best = 2;
    writer.save(CheckpointKind::latest, other);
    CHECK(train::load_checkpoint(newest(), run.tensors()).trainer.validation.best == 2);
}

TEST_CASE_FIXTURE(Sinks, "saves that fail are told and harm nothing") {
    train::FolderSink writer = sink(0);
    {
        const FileSizeLimit limit(100);
        writer.save(CheckpointKind::latest, at(7));
        contains(lines.str(), "warning: the checkpoint of step 7 is not saved (EFBIG): " +
                                  (folder / "checkpoints/step-00000007.tmp-"));
        contains(lines.str(), "there is no good checkpoint yet; training goes on");
    }
    writer.save(CheckpointKind::latest, at(8));
    writer.save(CheckpointKind::best, at(8));
    writer.finish();
    const FileSizeLimit limit(100);
    lines.str("");
    writer.save(CheckpointKind::latest, at(9));
    contains(lines.str(), "cannot be written: File too large");
    contains(lines.str(), "the newest good checkpoint is " + newest());
    writer.save(CheckpointKind::best, at(9));
    contains(lines.str(), "warning: the model with the weights of step 9 is not saved (EFBIG)");
    CHECK(folder.names("checkpoints") == Names{"step-00000008"});
    CHECK(folder.names() == Names{"checkpoints", "config.json", "model.safetensors"});
    CHECK(train::load_checkpoint(newest(), run.tensors()).trainer.step == 8);
    contains(failure(ErrorKind::io, [&] { writer.finish(); }),
             "the checkpoint of step 9 is not saved (EFBIG)");
}

TEST_CASE_FIXTURE(Sinks, "failures in a row end the run, others do not") {
    train::FolderSink writer = sink(0, 2);
    for (const std::int64_t step : {1, 3, 5}) {
        {
            const FileSizeLimit limit(100);
            writer.save(CheckpointKind::latest, at(step));
        }
        writer.save(CheckpointKind::latest, at(step + 1));
    }
    const FileSizeLimit limit(100);
    writer.save(CheckpointKind::latest, at(7));
    const std::string text =
        failure(ErrorKind::io, [&] { writer.save(CheckpointKind::latest, at(8)); });
    contains(text, "the newest good checkpoint is " + (folder / "checkpoints/step-00000006"));
    contains(text, "the run ends after 2 failures in a row (--max-save-failures)");
}

TEST_CASE_FIXTURE(Sinks, "a folder that another run has taken ends the run at once") {
    train::FolderSink writer = sink(0);
    writer.commit_after([] { throw Error(ErrorKind::io, "another run has the folder"); });
    for (const auto kind : {CheckpointKind::latest, CheckpointKind::best})
        CHECK_THROWS_WITH_AS(writer.save(kind, at(8)), "another run has the folder", Error);
}
