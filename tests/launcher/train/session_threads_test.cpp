// SPDX-License-Identifier: Apache-2.0
// The real session, ranks as threads of one process: 1 x 4, 2 x 2 and 4 x 1 lanes.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <iterator>
#include <sstream>

#include "launcher/options/run_command.hpp"
#include "launcher/train/training_session.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "tests/launcher/programs/metrics_file.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

RunConfig config_of(const std::string& data, const std::string& model, int ranks) {
    std::istringstream words(
        "--data " + data + " -mf " + model + " --update-freq " + std::to_string(4 / ranks) +
        " --n-layers 1 --embedding-size 32 --ffn-size 32 --dropout 0.1 -bs 8 -dynb full"
        " --attention-dropout 0.1 --gradient-clip 0.05 --text-truncate 32 --label-truncate 16"
        " --optimizer sgd -lr 1 --lr-scheduler fixed --precision fp32 --log-every-n-steps 1"
        " --num-epochs 2 --hash-every-n-updates 3 --quiet");
    return *parse_run(Task::train, "", {std::istream_iterator<std::string>(words), {}});
}

void train_on(int ranks, const RunConfig& config) {
    const TrainingPlan plan = check_training(config, LaunchMode::alone);
    const std::atomic<bool> stop{false};
    comm::ThreadWorld world(ranks);
    comm::run_as_threads(ranks, [&](comm::Communicator& rank) {
        Job job;
        job.rank_info = comm::alone();
        job.rank_info.rank = rank.rank();
        job.rank_info.size = ranks;
        job.communicator = world.join(rank.rank());
        std::ostringstream said;
        Log log(said, Verbosity::quiet, rank.rank(), "");
        try {
            TrainingSession(config, plan, job, log).run(stop, "train");
        } catch (...) {
            world.fail();
            throw;
        }
    });
}

}  // namespace

TEST_CASE("the session gives the same losses with 1, 2 and 4 ranks as threads") {
    const ScratchFolder scratch;
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 150);
    REQUIRE(run_line("lockstep prepare --input " + (scratch / "train.txt") + " --out " +
                     (scratch / "data"))
                .code == 0);
    std::vector<double> first;
    for (const int ranks : {1, 2, 4}) {
        CAPTURE(ranks);
        const std::string model = scratch / ("model" + std::to_string(ranks));
        train_on(ranks, config_of(scratch / "data", model, ranks));
        const std::vector<double> loss = losses(model);
        if (first.empty()) first = loss;
        REQUIRE(loss.size() == first.size());
        for (std::size_t step = 0; step < loss.size(); ++step) {
            CAPTURE(step);
            CHECK(std::abs(loss[step] - first[step]) <= 1e-5 * first[step]);
        }
    }
    CHECK(first.size() > 6);
    CHECK(first.back() < first.front());
}
