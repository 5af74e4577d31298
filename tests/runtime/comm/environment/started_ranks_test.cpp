// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/started_ranks.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/comm/net/socket.hpp"
#include "tests/runtime/comm/environment/environments.hpp"
#include "tests/runtime/comm/free_port.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;

namespace {

const Environment step = {{"SLURM_JOB_ID", "42"},        {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "0"},         {"SLURM_NTASKS", "4"},
                          {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_LOCALID", "0"}};
const Environment two_of_mpi = {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}};

// The number of ranks and the variable that says so; "none" if nobody has started several.
std::string started(const Environment& environment, StandardInput input = StandardInput::other) {
    const auto ranks = started_ranks(environment, input);
    return ranks ? std::to_string(ranks->count) + " by " + ranks->variable : "none";
}

}  // namespace

TEST_CASE("several ranks of a launcher are known by its variables") {
    CHECK(started({}) == "none");
    CHECK(started(step) == "4 by SLURM_STEP_NUM_TASKS");
    CHECK(started(two_of_mpi) == "2 by OMPI_COMM_WORLD_SIZE");
    CHECK(started({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}) == "3 by PMI_SIZE");
    CHECK(started({{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "2"}}) ==
          "2 by JSM_NAMESPACE_SIZE");
    CHECK(started({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "4"}}) == "4 by FLUX_JOB_SIZE");
    CHECK(started({{"FLUX_JOB_SIZE", "4"}}) == "none");
    CHECK(started({{"RANK", "0"}, {"WORLD_SIZE", "8"}}) == "8 by WORLD_SIZE");
    CHECK(started({{"WORLD_SIZE", "2 \r"}}) == "2 by WORLD_SIZE");
    CHECK(started({{"WORLD_SIZE", "1"}}) == "none");
    CHECK(started(step + Environment{{"SLURM_STEP_NUM_TASKS", "1"}}) == "none");
    CHECK(started(step + Environment{{"WORLD_SIZE", "1"}, {"RANK", "0"}}) ==
          "4 by SLURM_STEP_NUM_TASKS");
    CHECK_FALSE(started_tasks({{"WORLD_SIZE", "8"}}, StandardInput::other).has_value());
}

TEST_CASE("hosts on each of which a service starts one process are known by its variables") {
    const Environment sagemaker{{"SM_HOSTS", "[\"algo-1\",\"algo-2\"]"}};
    const auto ranks = started_ranks(sagemaker, StandardInput::other);
    REQUIRE(ranks.has_value());
    CHECK(ranks->kind == StartedKind::hosts);
    CHECK(started(sagemaker) == "2 by SM_HOSTS");
    CHECK(started({{"SM_HOSTS", "[\"algo-1\"]"}}) == "none");
    CHECK(started(sagemaker + Environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}}) == "none");
    CHECK(started(sagemaker + two_of_mpi) == "2 by OMPI_COMM_WORLD_SIZE");
    CHECK(started(sagemaker, StandardInput::terminal) == "none");
    CHECK(started({{"PET_NNODES", "3"}}) == "3 by PET_NNODES");
    CHECK(started({{"PET_NNODES", "1:4"}}) == "4 by PET_NNODES");
    for (const char* value : {"1", "1:1", "many", ""})
        CHECK(started({{"PET_NNODES", value}}) == "none");
    // distributed_launch reads the Trainer's options itself.
    CHECK(started_tasks(sagemaker, StandardInput::other).has_value());
    CHECK_FALSE(started_tasks({{"PET_NNODES", "3"}}, StandardInput::other).has_value());
}

TEST_CASE("what is typed into a shell of a rank is no rank") {
    const Environment typed = step + Environment{{"SLURM_TASK_PID", "1"}};
    for (const char* name : {"SLURM_PTY_PORT", "SLURM_PTY_WIN_COL", "JPY_PARENT_PID"})
        CHECK(started(typed + Environment{{name, "40000"}}) == "none");
    const Environment own{{"SLURM_TASK_PID", std::to_string(::getpid())}, {"SLURM_PTY_PORT", "1"}};
    CHECK(started(step + own) == "4 by SLURM_STEP_NUM_TASKS");  // srun -n4 --pty train
    CHECK(started(step, StandardInput::terminal) == "none");
    CHECK(started(two_of_mpi, StandardInput::terminal) == "none");
    // torchrun hands its own terminal on to its ranks.
    CHECK(started({{"WORLD_SIZE", "2"}}, StandardInput::terminal) == "2 by WORLD_SIZE");
    CHECK(started(step + Environment{{"SLURM_STEP_ID", "4294967290"}}) == "none");  // salloc
    CHECK(started({{"SLURM_JOB_ID", "42"}, {"SLURM_NTASKS", "4"}}) == "none");      // sbatch
}

TEST_CASE("variables that an mpirun left behind, or that cannot be read, mean nothing") {
    const auto listening = listen_on(resolve("127.0.0.1", 0).front());
    const auto daemon = [](int port) {
        return Environment{{"PMIX_NAMESPACE", "job"},
                           {"PMIX_SERVER_URI2", "a.0;tcp4://127.0.0.1:" + std::to_string(port)}};
    };
    CHECK(started(two_of_mpi + daemon(tests::free_port())) == "none");
    CHECK(started(two_of_mpi + daemon(local_address_of(listening.socket).port())) ==
          "2 by OMPI_COMM_WORLD_SIZE");
    CHECK(started({{"PMIX_RANK", "1"}, {"OMPI_MCA_btl", "tcp"}}) == "none");
    CHECK(started({{"WORLD_SIZE", "two"}}) == "none");
    CHECK(started(step + Environment{{"SLURM_STEP_NUM_TASKS", "4x"}}) == "none");
}

TEST_CASE("ranks inside a rank get nothing of what the outer launcher said") {
    const Environment kept = {{"HOME", "/h"},           {"OMPI_MCA_btl", "tcp"},
                              {"PMIX_MCA_ptl", "tcp"},  {"SLURM_JOB_ID", "42"},
                              {"PET_SCANS", "/data"},   {"SLURM_CPUS_PER_TASK", "4"},
                              {"OMP_NUM_THREADS", "3"}, {"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}};
    const Environment outer = {{"RANK", "3"},
                               {"LOCAL_RANK", "3"},
                               {"GROUP_RANK", "0"},
                               {"MASTER_ADDR", "a"},
                               {"TORCHELASTIC_RUN_ID", "x"},
                               {"PET_NNODES", "2"},
                               {"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_MCA_orte_hnp_uri", "u"},
                               {"PMIX_RANK", "1"},
                               {"PMI_SIZE", "2"},
                               {"MPI_LOCALRANKID", "1"}};
    const Environment task = {{"SLURM_PROCID", "3"},
                              {"SLURM_STEP_NUM_TASKS", "4"},
                              {"SLURM_STEP_ID", "0"},
                              {"SLURM_PTY_PORT", "1"}};
    CHECK(without_outer_ranks(kept + outer + task, SlurmTask::is_removed) == kept);
    CHECK(without_outer_ranks(kept + outer + task, SlurmTask::stays) == kept + task);
}

TEST_CASE("a shell by srun --pty may start ranks by torchrun's variables") {
    const Environment ranks = {{"RANK", "1"},        {"WORLD_SIZE", "2"},
                               {"LOCAL_RANK", "1"},  {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "a"}, {"TORCHELASTIC_RUN_ID", "none"}};
    const Environment shell = step + Environment{{"SLURM_PTY_PORT", "1"}, {"SLURM_TASK_PID", "1"}};
    CHECK(find_rank_info(shell + ranks, {}).size == 2);
    CHECK_THROWS_WITH(find_rank_info(step + ranks, {}),
                      doctest::Contains("contradicts the Slurm step"));
}
