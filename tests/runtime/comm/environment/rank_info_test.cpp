// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/rank_info.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/comm/environment/pmix_check.hpp"
#include "runtime/comm/environment/slurm_nodes.hpp"
#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/environment/environments.hpp"
#include "tests/runtime/comm/free_port.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;

namespace {

const Environment open_mpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                              {"OMPI_COMM_WORLD_SIZE", "4"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"PMIX_RANK", "3"}};
// The orted of an mpirun inside a Slurm job passes on this environment: its own step, one task per
// node.
const Environment orted_step = {{"SLURM_JOB_ID", "1234"}, {"SLURM_STEP_ID", "0"},
                                {"SLURM_PROCID", "1"},    {"SLURM_NTASKS", "2"},
                                {"SLURM_LOCALID", "0"},   {"SLURM_STEP_NODELIST", "n[1-2]"}};

// srun -n8 --pty bash: the shell is a task, but a command typed into it is not.
const Environment typed_into_task =
    slurm_step + Environment{{"SLURM_PTY_PORT", "40000"}, {"SLURM_TASK_PID", "1"}};
const Environment typed_into_one_task =
    typed_into_task + Environment{{"SLURM_PROCID", "0"},
                                  {"SLURM_STEP_NUM_TASKS", "1"},
                                  {"SLURM_LOCALID", "0"},
                                  {"SLURM_NODEID", "0"},
                                  {"SLURM_STEP_TASKS_PER_NODE", "1"}};

struct Found {
    const char* what;
    Environment environment;
    RankFlags flags;
    RankSource source;
    int rank, size, local_rank, local_size;
    std::string master_addr;
};

struct Refused {
    const char* what;
    Environment environment;
    RankFlags flags;
    std::string named;  // must be named in the message
};

}  // namespace

TEST_CASE("the first source that answers says where a rank is") {
    const std::vector<Found> cases = {
        {"nothing", {}, {}, RankSource::alone, 0, 1, 0, 1, ""},
        {"flags", {}, flags(1, 2), RankSource::flags, 1, 2, 0, 1, "f"},
        {"flags win", torchrun + open_mpi, flags(1, 2), RankSource::flags, 1, 2, 0, 1, "f"},
        {"torchrun", torchrun, {}, RankSource::torchrun, 5, 8, 1, 4, "a"},
        {"torchrun in mpirun", torchrun + open_mpi, {}, RankSource::torchrun, 5, 8, 1, 4, "a"},
        {"torchrun in a step",
         torchrun + slurm_step + Environment{{"TORCHELASTIC_RUN_ID", "none"}},
         {},
         RankSource::torchrun,
         5,
         8,
         1,
         4,
         "a"},
        {"torchrun's names for srun's ranks",
         slurm_step + Environment{{"RANK", "6"},
                                  {"WORLD_SIZE", "8"},
                                  {"LOCAL_RANK", "2"},
                                  {"LOCAL_WORLD_SIZE", "4"},
                                  {"MASTER_ADDR", "a"}},
         {},
         RankSource::torchrun,
         6,
         8,
         2,
         4,
         "a"},
        {"srun --pty, one task", typed_into_one_task, {}, RankSource::slurm, 0, 1, 0, 1, "n1"},
        {"srun --pty with the program itself as task",
         typed_into_task + Environment{{"SLURM_TASK_PID", std::to_string(::getpid())}},
         {},
         RankSource::slurm,
         6,
         8,
         2,
         4,
         "n1"},
        {"mpirun", open_mpi, {}, RankSource::mpi, 3, 4, 1, 2, ""},
        {"mpirun of Open MPI 5, which numbers a host's ranks as it likes",
         open_mpi + Environment{{"OMPI_COMM_WORLD_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}},
         {},
         RankSource::mpi,
         1,
         4,
         2,
         4,
         ""},
        {"mpirun under orted", open_mpi + orted_step, {}, RankSource::mpi, 3, 4, 1, 2, ""},
        {"sbatch -n2, mpirun -np 4",
         open_mpi + Environment{{"SLURM_JOB_ID", "1"}},
         {},
         RankSource::mpi,
         3,
         4,
         1,
         2,
         ""},
        {"srun --mpi=pmix",
         slurm_step + Environment{{"PMIX_RANK", "6"}},
         {},
         RankSource::mpi,
         6,
         8,
         2,
         4,
         "n1"},
        {"srun --mpi=none", slurm_step, {}, RankSource::slurm, 6, 8, 2, 4, "n1"},
        {"WORLD_SIZE of one", {{"WORLD_SIZE", "1"}}, {}, RankSource::alone, 0, 1, 0, 1, ""},
    };
    for (const auto& c : cases) {
        CAPTURE(c.what);
        const RankInfo rank_info = find_rank_info(c.environment, c.flags);
        CHECK(rank_info.source == c.source);
        CHECK(rank_info.rank == c.rank);
        CHECK(rank_info.size == c.size);
        CHECK(rank_info.local_rank == c.local_rank);
        CHECK(rank_info.local_size == c.local_size);
        CHECK(rank_info.master_addr == c.master_addr);
        CHECK((rank_info.master_port != 0) == !rank_info.master_addr.empty());
        CHECK_FALSE(rank_info.host.empty());
    }
}

// What launchers set for rank 1 of 2 on two hosts, by their own documents; what a rank's place does
// not follow from is left out. The script or the container starts distributed_train itself.
TEST_CASE("the variables of launchers that people have") {
    const Environment env_url = {
        {"MASTER_ADDR", "job-0"}, {"MASTER_PORT", "23456"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}};
    const Environment open_mpi_1 = {{"OMPI_COMM_WORLD_RANK", "1"},
                                    {"OMPI_COMM_WORLD_SIZE", "2"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
    const Environment volcano = {
        {"VC_TASK_INDEX", "1"}, {"VK_TASK_INDEX", "1"}, {"VC_WORKER_NUM", "1"}};
    const Environment ray =
        env_url + Environment{{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}, {"NODE_RANK", "1"}};
    const Environment sagemaker = {{"SM_HOSTS", "[\"algo-1\",\"algo-2\"]"},
                                   {"SM_CURRENT_HOST", "algo-2"},
                                   {"SM_NUM_GPUS", "1"}};
    const Environment lsf = {{"LSB_JOBID", "7"}, {"LSB_DJOB_NUMPROC", "2"}};
    const Environment jsrun = lsf + Environment{{"JSM_NAMESPACE_RANK", "1"},
                                                {"JSM_NAMESPACE_SIZE", "2"},
                                                {"JSM_NAMESPACE_LOCAL_RANK", "0"}};
    const Environment pbs = {{"PBS_JOBID", "7.pbs"}, {"PBS_NODEFILE", "/var/spool/pbs/aux/7.pbs"}};
    const Environment flux = {{"FLUX_TASK_RANK", "1"},
                              {"FLUX_JOB_SIZE", "2"},
                              {"FLUX_TASK_LOCAL_ID", "0"},
                              {"PMI_RANK", "1"},
                              {"PMI_SIZE", "2"}};
    const std::vector<Found> found = {
        {"Kubeflow's PyTorchJob", env_url, {}, RankSource::torchrun, 1, 2, 0, 1, "job-0"},
        {"Kubeflow's MPIJob", open_mpi_1, {}, RankSource::mpi, 1, 2, 0, 1, ""},
        {"Volcano with its plugin pytorch",
         volcano + env_url,
         {},
         RankSource::torchrun,
         1,
         2,
         0,
         1,
         "job-0"},
        {"Ray's TorchTrainer", ray, {}, RankSource::torchrun, 1, 2, 0, 1, "job-0"},
        {"SageMaker with torch_distributed",
         sagemaker + ray,
         {},
         RankSource::torchrun,
         1,
         2,
         0,
         1,
         "job-0"},
        {"jsrun with Spectrum MPI", jsrun + open_mpi_1, {}, RankSource::mpi, 1, 2, 0, 1, ""},
        {"mpirun in a job of LSF", lsf + open_mpi_1, {}, RankSource::mpi, 1, 2, 0, 1, ""},
        {"mpirun in a job of PBS", pbs + open_mpi_1, {}, RankSource::mpi, 1, 2, 0, 1, ""},
        {"a job of PBS, one process", pbs, {}, RankSource::alone, 0, 1, 0, 1, ""},
        {"Flux with Open MPI", flux + open_mpi_1, {}, RankSource::mpi, 1, 2, 0, 1, ""},
    };
    for (const auto& c : found) {
        CAPTURE(c.what);
        const RankInfo rank_info = find_rank_info(c.environment, c.flags);
        CHECK(rank_info.source == c.source);
        CHECK(rank_info.rank == c.rank);
        CHECK(rank_info.size == c.size);
        CHECK(rank_info.master_addr == c.master_addr);
    }
    const std::vector<Refused> refused = {
        {"jsrun", jsrun, {}, "--rank $JSM_NAMESPACE_RANK --world-size $JSM_NAMESPACE_SIZE"},
        {"flux run", flux, {}, "--local-rank $FLUX_TASK_LOCAL_ID --master-addr HOST"},
        {"SageMaker", sagemaker, {}, "distributed_launch --nnodes 2 --node-rank K"},
        {"Kubeflow's Trainer",
         {{"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "1"}, {"PET_NODE_RANK", "1"}},
         {},
         "type distributed_launch before the command"},
        {"HPE's mpiexec", pbs + Environment{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, {}, "PMI_SIZE"},
    };
    for (const auto& c : refused) {
        CAPTURE(c.what);
        CHECK_THROWS_WITH_AS(find_rank_info(c.environment, c.flags),
                             doctest::Contains(c.named.c_str()), Error);
    }
    CHECK(find_rank_info({{"SM_HOSTS", "[\"algo-1\"]"}, {"PET_NNODES", "1"}}, {}).source ==
          RankSource::alone);
}

TEST_CASE("missing pieces and contradictions are refused by name") {
    const std::vector<Refused> cases = {
        {"a job, no step", {{"SLURM_JOB_ID", "7"}}, {}, "srun"},
        {"no WORLD_SIZE", without(torchrun, "WORLD_SIZE"), {}, "WORLD_SIZE"},
        {"LOCAL_RANK alone", {{"LOCAL_RANK", "1"}}, {}, "unset LOCAL_RANK"},
        {"no MASTER_ADDR", without(torchrun, "MASTER_ADDR"), {}, "MASTER_ADDR"},
        {"a blank MASTER_ADDR", torchrun + Environment{{"MASTER_ADDR", " \r"}}, {}, "MASTER_ADDR"},
        {"no RANK", without(torchrun, "RANK"), {}, "RANK"},
        {"RANK is no number", torchrun + Environment{{"RANK", "two"}}, {}, "RANK='two'"},
        {"too many", torchrun + Environment{{"WORLD_SIZE", "65537"}}, {}, "has at most 65536"},
        {"rank beyond size", torchrun + Environment{{"RANK", "8"}}, {}, "rank 8 of 8"},
        {"negative", torchrun + Environment{{"RANK", "-1"}}, {}, "RANK='-1'"},
        {"local beyond", torchrun + Environment{{"LOCAL_RANK", "4"}}, {}, "local rank 4 of 4"},
        {"bad port", torchrun + Environment{{"MASTER_PORT", "70000"}}, {}, "MASTER_PORT=70000"},
        {"no local size", without(open_mpi, "OMPI_COMM_WORLD_LOCAL_SIZE"), {}, "LOCAL_SIZE"},
        {"PMIx alone", {{"PMIX_RANK", "1"}}, {}, "PMIX_RANK"},
        {"PMIx of an outer job", slurm_step + Environment{{"PMIX_RANK", "1"}}, {}, "SLURM_PROCID"},
        {"a step's shell", typed_into_task, {}, "--overlap"},
        {"salloc's shell", slurm_step + Environment{{"SLURM_STEP_ID", "4294967290"}}, {}, "srun"},
        {"a batch script", slurm_step + Environment{{"SLURM_STEP_ID", "4294967291"}}, {}, "srun"},
        {"a left-over world of one in a step of eight",
         torchrun + slurm_step +
             Environment{{"RANK", "0"},
                         {"WORLD_SIZE", "1"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "1"}},
         {},
         "contradicts the Slurm step"},
        {"one RANK for all tasks", torchrun + slurm_step, {}, "RANK 5 of WORLD_SIZE 8"},
        {"MPICH's mpirun", {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, {}, "PMI_SIZE"},
        {"MVAPICH's", {{"MV2_COMM_WORLD_SIZE", "4"}}, {}, "MV2_COMM_WORLD_SIZE"},
        {"a step's number that is none",
         slurm_step + Environment{{"SLURM_STEP_ID", "batch"}},
         {},
         "SLURM_STEP_ID='batch'"},
        {"step without nodes", without(slurm_step, "SLURM_STEP_NODELIST"), {}, "NODELIST"},
        {"step without task", without(slurm_step, "SLURM_PROCID"), {}, "SLURM_PROCID"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.what);
        try {
            find_rank_info(c.environment, c.flags);
            FAIL_CHECK("was not refused");
        } catch (const Error& error) {
            const std::string what = error.what();
            CAPTURE(what);
            CHECK(error.kind() == ErrorKind::config);
            CHECK(what.find(c.named) != std::string::npos);
        }
    }
}

TEST_CASE("half of the flags, or flags against the environment, are refused") {
    RankFlags only_rank;
    only_rank.rank = 1;
    CHECK_THROWS_WITH_AS(find_rank_info({}, only_rank), doctest::Contains("--world-size"), Error);
    RankFlags no_master = flags(0, 2);
    no_master.master_addr.reset();
    CHECK_THROWS_WITH_AS(find_rank_info({}, no_master), doctest::Contains("--master-addr"), Error);
    RankFlags local;
    local.local_rank = 3;
    CHECK_THROWS_WITH_AS(find_rank_info(torchrun, local), doctest::Contains("--local-rank 3"),
                         Error);
    CHECK_THROWS_AS(find_rank_info({}, flags(2, 2)), Error);
}

TEST_CASE("the master's address and port can be given alone, to correct what Slurm says") {
    RankFlags master;
    master.master_addr = "n1-ib";
    master.master_port = 4000;
    const RankInfo rank_info = find_rank_info(slurm_step, master);
    CHECK(rank_info.source == RankSource::slurm);
    CHECK(rank_info.master_addr == "n1-ib");
    CHECK(rank_info.master_port == 4000);
}

TEST_CASE("the store's port stays clear of torchrun's and follows the Slurm job") {
    CHECK(find_rank_info(torchrun, {}).master_port == 29501);
    const int port = find_rank_info(slurm_step, {}).master_port;
    const Environment neighbour = {{"SLURM_PROCID", "7"}, {"SLURM_LOCALID", "3"}};
    CHECK(port == find_rank_info(slurm_step + neighbour, {}).master_port);
    CHECK(port !=
          find_rank_info(slurm_step + Environment{{"SLURM_JOB_ID", "1235"}}, {}).master_port);
    const auto large = slurm_step + Environment{{"SLURM_JOB_ID", "2147483647"}};
    CHECK(find_rank_info(large, {}).master_port < 32768);
}

TEST_CASE("a PMIx daemon that does not answer is told before MPI aborts") {
    const auto listening = listen_on(resolve("127.0.0.1", 0).front());
    const std::string port = std::to_string(local_address_of(listening.socket).port());
    const std::string closed = std::to_string(tests::free_port());
    const Environment job = {{"PMIX_NAMESPACE", "job"}, {"PMIX_RANK", "0"}};
    CHECK_NOTHROW(require_pmix_daemon({}));
    CHECK_THROWS_WITH_AS(require_pmix_daemon(job), doctest::Contains("is not named"), Error);
    const Environment dead = {{"PMIX_SERVER_URI2", "a.0;tcp4://127.0.0.1:" + closed}};
    CHECK_THROWS_WITH_AS(require_pmix_daemon(job + dead), doctest::Contains(closed.c_str()), Error);
    CHECK_NOTHROW(require_pmix_daemon(
        job + dead + Environment{{"PMIX_SERVER_URI41", "a.0;tcp4://127.0.0.1:" + port}}));
    CHECK_NOTHROW(require_pmix_daemon(job + Environment{{"PMIX_SERVER_URI", "usock:1:/tmp/x"}}));
}

TEST_CASE("Slurm's lists") {
    CHECK(first_node("n1") == "n1");
    CHECK(first_node("n1,n2") == "n1");
    CHECK(first_node("n[07-09,12],m1") == "n07");
    CHECK(first_node("n[3,5]") == "n3");
    CHECK(first_node("rack[1-2]n[3-4]-ib") == "rack1n3-ib");
    CHECK_THROWS_AS(first_node("n[1-2"), Error);
    CHECK(tasks_on_node("4(x2),3", 0) == 4);
    CHECK(tasks_on_node("4(x2),3", 1) == 4);
    CHECK(tasks_on_node("4(x2),3", 2) == 3);
    CHECK_FALSE(tasks_on_node("4(x2),3", 3).has_value());
    CHECK(tasks_on_node("8", 0) == 8);
    CHECK_FALSE(tasks_on_node("8x", 0).has_value());
    CHECK_FALSE(tasks_on_node("4(x2)3", 0).has_value());
}

TEST_CASE("numbers that are too large for a sum of them are refused or counted right") {
    CHECK(tasks_on_node("1(x2147483647),2(x2147483647)", 2'147'483'646) == 1);
    CHECK(tasks_on_node("1(x2147483647),2(x2147483647)", 2'147'483'647) == 2);
    CHECK_FALSE(tasks_on_node("1(x-5),2", 1).has_value());
    CHECK_FALSE(tasks_on_node("1(x0),-2", 0).has_value());
    const auto refusal = [](const char* variable) -> std::string {
        try {
            find_rank_info(torchrun + Environment{{variable, "2147483647"}}, {});
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    };
    for (const char* variable : {"MASTER_PORT", "LOCAL_RANK"})
        CHECK(refusal(variable) ==
              std::string(variable) + "='2147483647' in the environment is too large");
}

TEST_CASE("a variable's value is shown cut") {
    const std::string long_value(5'000, 'n');
    for (const auto& [variable, value] :
         {std::pair("SLURM_STEP_NODELIST", "[" + long_value), {"SLURM_PROCID", long_value}}) {
        try {
            find_rank_info(slurm_step + Environment{{variable, value}}, {});
            FAIL("accepted");
        } catch (const Error& error) {
            CHECK(std::string(error.what()).size() < 250);
        }
    }
}

TEST_CASE("ranks that nobody told how many are on their host do not take it for the only one") {
    auto environment = torchrun + Environment{{"RANK", "7"}, {"LOCAL_RANK", "7"}};
    environment.erase("LOCAL_WORLD_SIZE");
    const auto last = find_rank_info(environment, {});
    CHECK(last.local_size == 8);
    CHECK_FALSE(last.one_host());
    environment["LOCAL_WORLD_SIZE"] = "8";
    CHECK(find_rank_info(environment, {}).one_host());
    CHECK(find_rank_info({}, {}).one_host());
}
