// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "launcher/schedulers/lsf_script.hpp"
#include "launcher/schedulers/pbs_script.hpp"
#include "launcher/schedulers/scheduler_checks.hpp"
#include "launcher/schedulers/time_limit.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using tests::read_text;

namespace {

SlurmJob smallest() {
    SlurmJob spec;
    spec.command = {"distributed_train"};
    return spec;
}

SlurmJob full() {
    SlurmJob spec;
    spec.nodes = 4;
    spec.tasks_per_node = 8;
    spec.cpus_per_task = 6;
    spec.gpus_per_node = "8";
    spec.time = "2-12:00:00";
    spec.partition = "gpu";
    spec.account = "dialogue";
    spec.name = "big";
    spec.warning_s = 300;
    spec.setup = {"module load openmpi/4.1", "ulimit -l unlimited"};
    spec.command = {"distributed_train", "--data", "a folder", "-mf", "it's"};
    return spec;
}

std::string refusal(Scheduler scheduler, const SlurmJob& spec,
                    const std::vector<std::string>& directives = {}) {
    try {
        check_for(scheduler, spec, directives);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("the scripts for PBS and LSF of known specifications") {
    CHECK(pbs_script(smallest(), {}) == read_text("tests/golden/schedulers/smallest.pbs"));
    CHECK(lsf_script(smallest(), {}) == read_text("tests/golden/schedulers/smallest.lsf"));
    SlurmJob spec = full();
    spec.gpus_per_node = "a100:8";
    spec.output = "logs/%x-%j.out";
    CHECK(lsf_script(spec, {"-N"}) == read_text("tests/golden/schedulers/full.lsf"));
    spec = full();
    spec.memory = "480G";
    spec.output = "logs/";
    CHECK(pbs_script(spec, {"-m e", "-l scratch=10gb"}) ==
          read_text("tests/golden/schedulers/full.pbs"));
}

TEST_CASE("a time limit has sbatch's forms") {
    CHECK(time_limit_s("") == 0);
    CHECK(time_limit_s("90") == 90 * 60);
    CHECK(time_limit_s("90:30") == 90 * 60 + 30);
    CHECK(time_limit_s("12:00:05") == 12 * 3600 + 5);
    CHECK(time_limit_s("2-12") == 60 * 3600);
    CHECK(time_limit_s("2-12:30") == 60 * 3600 + 1800);
    CHECK(time_limit_s("2-12:00:01") == 60 * 3600 + 1);
    CHECK(wall_time(60 * 3600 + 61) == "60:01:01");
    CHECK(wall_time(59) == "00:00:59");
}

TEST_CASE("what a scheduler does not have is refused by the option's name") {
    for (const Scheduler scheduler : {Scheduler::pbs, Scheduler::lsf}) {
        CHECK(refusal(scheduler, full()).empty());
        SlurmJob spec = full();
        spec.qos = "long";
        CHECK(refusal(scheduler, spec) ==
              "--qos: only Slurm has it; give --directive LINE, or leave it out");
        spec = full();
        spec.at_time_limit = AtTimeLimit::continue_later;
        CHECK(refusal(scheduler, spec).starts_with("--requeue: only Slurm has it"));
        spec = full();
        spec.time = "5";
        CHECK(refusal(scheduler, spec).starts_with("--time 5: the ranks are to be told 300 s"));
        CHECK(refusal(scheduler, full(), {"m e"}).starts_with("--directive: 'm e' is no option"));
        CHECK(refusal(scheduler, full(), {"-m\nrm x"}).starts_with("--directive: "));
    }
    SlurmJob spec = full();
    spec.memory = "4G";
    CHECK(refusal(Scheduler::lsf, spec).starts_with("--mem: LSF counts memory"));
    spec = full();
    spec.gpus_per_node = "a100:8";
    CHECK(refusal(Scheduler::pbs, spec).starts_with("--gpus-per-node a100:8: PBS has no kinds"));
    spec = full();
    spec.output = "%j.out";
    CHECK(refusal(Scheduler::pbs, spec).starts_with("--output %j.out: PBS puts"));
    CHECK(refusal(Scheduler::slurm, full(), {"-m e"}).starts_with("--directive: it is for"));
}
