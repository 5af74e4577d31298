// SPDX-License-Identifier: Apache-2.0
// submit with stand-ins for qsub and bsub, and its job scripts with one for mpirun.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

const std::string command = " -- distributed_train --data data -mf model --num-epochs 1";

struct Cluster {
    Cluster() {
        std::filesystem::create_directory(folder / "data");
        input.folder = folder / "";
        input.environment["PATH"] = (folder / "") + ":" + std::getenv("PATH");
    }
    void add(const std::string& name, const std::string& script) {
        write_text(folder / name, "#!/bin/bash\n" + script);
        std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    }
    ProgramResult run(const std::string& script) { return run_program({"bash", script}, input); }

    ScratchFolder folder;
    ProgramInput input;
};

constexpr const char* tells_words = "printf '%s\\n' \"$@\"; echo secret ${#LOCKSTEP_SECRET}\n";

}  // namespace

TEST_CASE(
    "submit gives the script to qsub, and the job starts a rank for each line of PBS's list") {
    Cluster cluster;
    cluster.add("qsub", "echo \"$#:$1\"; cat \"$1\" > seen\n");
    cluster.add("mpirun", tells_words);
    const ProgramResult sent = run_line(
        "lockstep submit --scheduler pbs -J two -N 2 --tasks-per-node 2" + command, cluster.input);
    CAPTURE(sent.err);
    CHECK(sent.code == 0);
    CHECK(sent.out == "1:two.pbs\n");
    CHECK(read_text(cluster.folder / "two.pbs") == read_text(cluster.folder / "seen"));
    cluster.input.environment["PBS_O_WORKDIR"] = cluster.folder / "data";
    cluster.input.environment["PBS_NODEFILE"] = "the hosts";
    const ProgramResult job = cluster.run("two.pbs");
    CAPTURE(job.err);
    CHECK(job.code == 0);
    CHECK(job.out.starts_with("-np\n4\n--hostfile\nthe hosts\n--bind-to\nnone\n"));
    CHECK(job.out.ends_with("--num-epochs\n1\nsecret 64\n"));
}

TEST_CASE("submit gives the script to bsub, and the job starts ranks on LSF's hosts") {
    Cluster cluster;
    cluster.add("bsub", "echo $#; cat > seen\n");
    cluster.add("mpirun", tells_words);
    const ProgramResult sent =
        run_line("lockstep submit --scheduler lsf -J two -N 2" + command, cluster.input);
    CAPTURE(sent.err);
    CHECK(sent.code == 0);
    CHECK(sent.out == "0\n");
    CHECK(read_text(cluster.folder / "two.lsf") == read_text(cluster.folder / "seen"));
    cluster.input.environment["LSB_MCPU_HOSTS"] = "node1 4 node2 2";
    const ProgramResult job = cluster.run("two.lsf");
    CAPTURE(job.err);
    CHECK(job.code == 0);
    CHECK(job.out.starts_with("-np\n2\n--host\nnode1:4,node2:2\n--bind-to\nnone\n"));
}

TEST_CASE("before the time limit the ranks are told, and their code is the job's") {
    Cluster cluster;
    cluster.add("mpirun", "trap 'echo told; exit 3' USR1\nwhile :; do sleep 0.05; done\n");
    const ProgramResult written =
        run_line("lockstep submit --scheduler lsf --dry-run -t 0:01:00 --signal USR1@59" + command,
                 cluster.input);
    CAPTURE(written.err);
    REQUIRE(written.code == 0);
    write_text(cluster.folder / "job", written.out);
    cluster.input.environment["LSB_MCPU_HOSTS"] = "here 1";
    const ProgramResult job = cluster.run("job");
    CHECK(job.out == "told\n");
    CHECK(job.code == 3);
}

TEST_CASE("an absent or failing qsub leaves the script") {
    Cluster cluster;
    cluster.add("qsub", "echo no such queue >&2; exit 1\n");
    const ProgramResult failed =
        run_line("lockstep submit --scheduler pbs" + command, cluster.input);
    CHECK(failed.code == 2);
    CHECK(failed.err.starts_with("no such queue\nsubmit: qsub refused lockstep.pbs"));
    cluster.input.environment["PATH"] = "/nowhere";
    const ProgramResult missing =
        run_line("lockstep submit --scheduler lsf" + command, cluster.input);
    CHECK(missing.code == 2);
    CHECK(missing.err.starts_with("submit: bsub is not on PATH: lockstep.lsf is written"));
    CHECK(std::filesystem::exists(cluster.folder / "lockstep.lsf"));
}
