// SPDX-License-Identifier: Apache-2.0
// The real program: alone, under launchers, and on hosts in namespaces with faults planted there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/support/files.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

struct PreparedFolder {
    ScratchFolder scratch;
    std::string data = scratch / "data", model = scratch / "model";

    PreparedFolder() {
        copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 60);
        const auto run = run_line("lockstep prepare --shards 2 --input " + (scratch / "train.txt") +
                                  " --out " + data);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
    std::string doctor() const {
        return "lockstep doctor --data " + data + " -mf " + model + " --timeout 10 ";
    }
};

// Puts the built programs on PATH, and lets root run MPI if root runs the tests.
std::map<std::string, std::string> environment() {
    const std::string bin = fs::read_symlink("/proc/self/exe").parent_path();
    return {{"PATH", bin + ":" + getenv("PATH")},
            {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
            {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
}

ProgramResult on_four_hosts(const std::string& fault, const std::string& line) {
    std::vector<std::string> command{"bash", "tests/launcher/doctor/four_hosts.sh", fault};
    std::istringstream words(line);
    for (std::string word; words >> word;) command.push_back(word);
    return run_program(command, {"", environment(), ""});
}

}  // namespace

TEST_CASE("alone: everything but the network is looked at, and nothing is left behind") {
    const PreparedFolder place;
    says(run_line(place.doctor()), 0,
         {"1 rank on 1 host, placed by alone", "GPUs of ", "all-reduce: not measured",
          "the checkpoints take ", "2 shards opened over all hosts, 60 of 60 rows read",
          "verdict: a run can start"});
    CHECK_FALSE(fs::exists(place.model));
    CHECK(std::distance(fs::directory_iterator(place.scratch / ""), {}) == 2);
    says(run_line("lockstep doctor"), 0, {"verdict: a run can start"});
}

TEST_CASE("under launchers every rank is in the table, and every pair is measured") {
    const PreparedFolder place;
    for (const auto& [launcher, secret] : std::vector<std::pair<std::string, std::string>>{
             {"distributed_launch --nproc-per-node 4",
              "placed by torchrun or distributed_launch\nsecret: from LOCKSTEP_SECRET, which the "
              "user or the launcher set\n"},
             {"mpirun --oversubscribe -np 4", "placed by mpi\nsecret: not needed"}}) {
        CAPTURE(launcher);
        says(run_line(launcher + " " + place.doctor(), {"", environment(), ""}), 0,
             {"4 ranks on 1 host", secret, "\n  3     ", "rank 2 - 3 on ",
              "ring of all ranks: ", "verdict: a run can start"});
    }
}

TEST_CASE("the JSON document says the same") {
    const PreparedFolder place;
    const auto run = run_line("distributed_launch --nproc-per-node 2 " + place.doctor() + "--json");
    REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    const auto report = nlohmann::json::parse(run.out);
    CHECK(report["would_break"] == false);
    CHECK(report["ranks"].size() == 2);
    CHECK(report["pairs"].size() == 1);
    CHECK(report["pairs"][0]["all_reduce"] > 0);
    CHECK(report["folder"]["checkpoints_bytes"] > 0);
}

TEST_CASE("damaged data, a folder that takes no files, a disk without room") {
    const PreparedFolder place;
    says(run_line("lockstep doctor -mf /proc/model --data " + place.data + "/none"), 1,
         {"PROBLEM [folder] rank 0 on ", "-mf /proc/model: ", "PROBLEM [data] rank 0 on ",
          "no such folder", "would fail here: 2 problems"});
    write_text(place.data + "/train-00001-of-00002.h5", "no HDF5 file");
    says(run_line(place.doctor()), 1,
         {"PROBLEM [data] rank 0 on ", "train-00001-of-00002.h5: not a whole HDF5 file"});
    says(run_line(place.doctor() + "--embedding-size 131072 --ffn-size 131072"), 1,
         {"PROBLEM [folder]", "the checkpoints take ", " are free", "PROBLEM [memory]",
          "1 rank takes ", "lockstep plan"});
}

TEST_CASE("options that contradict the model that is there") {
    const PreparedFolder place;
    REQUIRE(run_line("train --data " + place.data + " -mf " + place.model +
                     " --n-layers 1 --embedding-size 16 --ffn-size 16 --max-train-steps 1")
                .code == 0);
    says(run_line(place.doctor()), 0, {"verdict: a run can start"});
    says(run_line(place.doctor() + "--n-layers 3"), 1, {"PROBLEM [options]", "--n-layers"});
    says(run_line(place.doctor() + "--offload optimizer"), 1,
         {"PROBLEM [options]", "--offload optimizer is for GPUs"});
    says(run_line(place.doctor() + "--recompute layer:99"), 1, {"PROBLEM [options]", "layer:99"});
    // A run goes on with more ranks than lanes, but none begins so.
    const std::string two = "distributed_launch --nproc-per-node 2 ";
    says(run_line(two + place.doctor() + "--logical-shards 1"), 0, {"verdict: a run can start"});
    fs::remove_all(place.model);
    says(run_line(two + place.doctor() + "--logical-shards 1"), 1,
         {"PROBLEM [options]", "--logical-shards 1: fewer than the 2 ranks"});
}

TEST_CASE("GPUs are found by their driver's library") {
    const PreparedFolder place;
    const std::string bin = fs::read_symlink("/proc/self/exe").parent_path();
    fs::create_symlink(bin + "/libfake_nvml.so", place.scratch / "libnvidia-ml.so.1");
    const auto run = run_line("distributed_launch --nproc-per-node 2 " + place.doctor(),
                              {"", {{"LD_LIBRARY_PATH", place.scratch / ""}}, ""});
    says(run, 0,
         {"0 NVIDIA H100 80GB HBM3, 80 GiB, GPU-0a1b2c3d", "GPU2  PIX   PHB   X     SYS",
          "550.54.15, serves CUDA 12.4 and older", "1 NVIDIA H100 80GB HBM3 GPU-1a1b2c3d"});
}

TEST_CASE("what GPUs need of a host is one table, before anything is started") {
    const PreparedFolder place;
    const std::string bin = fs::read_symlink("/proc/self/exe").parent_path();
    const auto preflight = [&](const std::string& nvml) {
        std::map<std::string, std::string> variables{{"FAKE_NVML", nvml}};
        if (nvml != "absent") variables["LD_LIBRARY_PATH"] = place.scratch / "";
        return run_line("lockstep_emulated_gpu doctor --preflight", {"", variables, ""});
    };
    fs::create_symlink(bin + "/libfake_nvml.so", place.scratch / "libnvidia-ml.so.1");
    fs::create_symlink(LOCKSTEP_EMULATED_CUBLAS_LT, place.scratch / "libcublasLt.so.12");
    says(preflight("linked"), 0,
         {"| driver       | 550.54.15, serves CUDA 12.4 and older", "| this program | CUDA 12.4",
          "| GPU 0-3      | NVIDIA H100 80GB HBM3, 81920 MiB, compute capability 9.0",
          "| cuBLASLt     | 13.0.0", "| NCCL         | 2.28.9, ", "| glibc        | 2.",
          ": a run can start"});
    says(preflight("old"), 1,
         {"the NVIDIA driver serves CUDA 11.8 at most, and this program is built with CUDA 12.4: "
          "install driver 525 or newer",
          ": a run would fail here: 1 problem"});
    // CUDA sees its GPU without the management library, and a run computes there.
    says(preflight("absent"), 0,
         {"| driver       | of unknown version (no NVIDIA ", "| GPU 0 ", "GPUs of ",
          ": a run can start"});
    const auto none = run_line("lockstep_emulated_gpu doctor --preflight",
                               {"", {{"LOCKSTEP_EMULATED_GPUS", "0"}}, ""});
    says(none, 1,
         {"| driver       | none  ", "| has no GPU: no NVIDIA ",
          ": choose hosts with GPUs, or install the driver where there is one |",
          ": a run would fail here: 1 problem"});
    CHECK(none.out.find("rank 0") == std::string::npos);
    CHECK(none.out.find("no NVIDIA") == none.out.rfind("no NVIDIA"));  // it is told once
}

TEST_CASE("a wrong request is one line and exit code 2") {
    for (const std::string wrong :
         {"--timeout 0", "--data-seconds -1", "--jsn", "--n-layers x", "--preflight --json"}) {
        const auto run = run_line("lockstep doctor " + wrong);
        CAPTURE(wrong);
        CHECK(run.code == 2);
        CHECK(run.out.empty());
        CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    }
}

TEST_CASE("ranks that do not come, and a rank 0 that is not there") {
    const std::map<std::string, std::string> lone{{"WORLD_SIZE", "2"},
                                                  {"LOCAL_RANK", "0"},
                                                  {"LOCAL_WORLD_SIZE", "2"},
                                                  {"MASTER_ADDR", "localhost"},
                                                  {"MASTER_PORT", "29790"}};
    auto variables = lone;
    variables["RANK"] = "0";
    says(run_line("lockstep doctor --timeout 1", {"", variables, ""}), 1,
         {"PROBLEM [ranks] rank 1: did not come to rank 0", "1 problem"});
    variables["RANK"] = "1";
    variables["LOCAL_RANK"] = "1";
    says(run_line("lockstep doctor --timeout 1", {"", variables, ""}), 1,
         {"PROBLEM [meeting] rank 1 on ", "cannot meet the other ranks",
          "refuses connections: the host answers, but nothing listens there"});
}

TEST_CASE("four hosts: nothing wrong; two that do not reach each other; a slow cable" *
          doctest::test_suite(needs_networks)) {
    const PreparedFolder place;
    says(on_four_hosts("true", place.doctor()), 0,
         {"4 ranks on 4 hosts", "h3 - h4: ", "rank 3 code 0", "verdict: a run can start"});
    // Rank 0 reaches both, so that the ranks meet; the mesh that a run needs would never stand.
    says(on_four_hosts("inside 3 ip route add unreachable 10.97.0.4/32", place.doctor()), 0,
         {"PROBLEM [ports] from h3: h4 cannot be reached: 10.97.0.4 port ", "No route to host",
          "PROBLEM [ports] from h4: h3 cannot be reached: 10.97.0.3 port ",
          "does not answer within", "all-reduce: not measured, not every host reaches every other",
          "rank 0 code 1", "2 problems"});
    says(on_four_hosts(
             "inside 4 tc qdisc add dev eth0 root tbf rate 40mbit burst 32kbit latency 20ms",
             place.doctor()),
         0,
         {"warning [rates] between h", " and h4: TCP carries ", "where the median pair of hosts",
          "rank 0 code 0"});
}

TEST_CASE("a rank 0 that cannot be reached is named with the reason" *
          doctest::test_suite(needs_networks)) {
    const PreparedFolder place;
    says(on_four_hosts("inside 2 ip route add unreachable 10.97.0.1/32",
                       "lockstep doctor --timeout 10"),
         0,
         {"PROBLEM [meeting] rank 1 on h2: cannot meet", "seen from h2: 10.97.0.1 port ",
          "No route to host", "PROBLEM [ranks] rank 1: did not come", "rank 0 code 1"});
}
