// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>

#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "tests/runtime/train/checkpoint/saved_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::train;

TEST_CASE_FIXTURE(LoggedFolder, "a checkpoint under the name of another step is not used") {
    CheckpointFolder checkpoints(folder.path(), {}, log);
    SavedRun run(10);
    checkpoints.save(run.tensors(), run.record);
    const std::string all = folder / "checkpoints/", own = all + "step-00000010";
    std::filesystem::copy(own, all + "step-00000100");
    std::filesystem::copy(own, all + "step-" + std::string(30, '9'));  // no number of a step
    const auto choice = choose_checkpoint(folder.path());
    CHECK(choice.path == own);
    REQUIRE(choice.damaged.size() == 1);
    check_contains(choice.damaged.front().why,
                   "step-00000100/state.json: trainer/step is 10, which is not the folder's name; "
                   "call the folder step-00000010 if");
    std::filesystem::rename(own, all + "step-10");  // the same step
    CHECK(choose_checkpoint(folder.path()).path == all + "step-10");
    CHECK_NOTHROW(verify_checkpoint(all + "step-00000100"));  // elsewhere any name will do
}

TEST_CASE_FIXTURE(LoggedFolder, "checkpoints that cannot be listed do not count as none") {
    const std::string checkpoints = folder / "checkpoints";
    const auto choose = [&] { (void)newest_good_checkpoint(folder.path()); };
    std::filesystem::create_symlink(folder / "unmounted", checkpoints);
    check_contains(failure(ErrorKind::io, choose), checkpoints + ": cannot be read: No such file");
    std::filesystem::remove(checkpoints);
    std::filesystem::create_symlink(checkpoints, checkpoints);  // a loop
    check_contains(failure(ErrorKind::io, choose),
                   checkpoints + ": cannot be read: Too many levels");
    std::filesystem::remove(checkpoints);
    tests::write_text(checkpoints, "");
    check_contains(failure(ErrorKind::io, choose),
                   checkpoints + ": cannot be read: Not a directory; ");
    std::filesystem::remove(checkpoints);
    CHECK_FALSE(newest_good_checkpoint(folder.path()));
}
