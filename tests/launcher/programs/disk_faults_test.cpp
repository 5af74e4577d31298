// SPDX-License-Identifier: Apache-2.0
// Whatever call on the disk fails while a run starts, saves or continues, and whenever it is killed
// or the power is cut: the next start continues as if nothing had been, and nothing is left over.
#include <doctest/doctest.h>

#include "tests/launcher/programs/fault_sweep.hpp"
#include "tests/launcher/programs/tiny_run.hpp"

using namespace lockstep::tests;

namespace {

std::size_t complaints(const TinyRun& run, const FolderTree& before, int first_step,
                       std::size_t max_points) {
    SweptOperation operation;
    operation.before = before;
    operation.command = [&](const std::string& folder) { return run.command(folder); };
    operation.check = RunCheck(run, before, first_step);
    return sweep(operation, max_points).complaints.size();
}

}  // namespace

TEST_CASE("a run that continues and saves survives every fault of its disk") {
    use_scratch_in_memory();
    const TinyRun run;
    CHECK(complaints(run, run.after(2), 2, 80) == 0);
}

TEST_CASE("a first start survives every fault of its disk") {
    use_scratch_in_memory();
    const TinyRun run;
    CHECK(complaints(run, {}, 0, 50) == 0);
}

TEST_CASE("a start over a damaged checkpoint and leftovers survives every fault of its disk") {
    use_scratch_in_memory();
    const TinyRun run;
    FolderTree before = run.after(3);
    before["model/checkpoints/step-00000003/model.safetensors"]->back() ^= 1;
    before["model/checkpoints/step-00000004.tmp-99999"] = std::nullopt;
    before["model/checkpoints/step-00000004.tmp-99999/model.safetensors"] = "begun";
    CHECK(complaints(run, before, 2, 40) == 0);
}
