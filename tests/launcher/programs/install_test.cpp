// SPDX-License-Identifier: Apache-2.0
// The installed tree runs from wherever it is put, and needs MPI only where MPI starts it.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

std::string build_folder() {
    return fs::read_symlink("/proc/self/exe").parent_path().parent_path().string();
}

void succeeds(const ProgramResult& run) { REQUIRE_MESSAGE(run.code == 0, run.out << run.err); }

}  // namespace

TEST_CASE("an installed tree that was moved prepares, trains by links and under mpirun") {
    const ScratchFolder scratch;
    succeeds(run_program({"cmake", "--install", build_folder(), "--prefix", scratch / "first"}));
    fs::rename(scratch / "first", scratch / "moved");
    const std::string bin = scratch / "moved/bin/";
    copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 40);
    succeeds(run_program({bin + "lockstep", "prepare", "--input", scratch / "train.txt", "--out",
                          scratch / "data"}));

    const std::string options = " --data " + (scratch / "data") +
                                " --embedding-size 16 --n-layers 1 --ffn-size 16 --threads 1"
                                " --max-train-steps 2 -bs 4 -mf ";
    succeeds(run_line(bin + "multiprocessing_train --distributed-world-size 2" + options +
                      (scratch / "gloo")));
    if (fs::exists(scratch / "moved/lib/lockstep/liblockstep_mpi.so")) {
        succeeds(run_line("mpirun --allow-run-as-root --oversubscribe --bind-to none -np 2 " + bin +
                          "distributed_train" + options + (scratch / "mpi")));
        CHECK(fs::exists(scratch / "mpi/model.safetensors"));
    }
}

TEST_CASE(
    "the examples are beside the installed README.md, and quickstart uses what is installed") {
    const ScratchFolder scratch;
    succeeds(run_program({"cmake", "--install", build_folder(), "--prefix", scratch / "tree"}));
    const std::string documents = scratch / "tree/share/doc/lockstep/";
    REQUIRE(fs::exists(documents + "README.md"));
    for (const char* name :
         {"quickstart.sh", "weights_from_hf.py", "weights_to_hf.py", "weights_from_parlai.py",
          "weights_to_parlai.py", "shakespeare/train.txt", "shakespeare/valid.txt"})
        CHECK(fs::exists(documents + "examples/" + name));
    // Training would take minutes.
    const std::string train = scratch / "tree/bin/multiprocessing_train";
    fs::remove(train);
    write_text(train, "#!/bin/sh\nexit 3\n");
    fs::permissions(train, fs::perms::owner_all);
    const auto run = run_program({documents + "examples/quickstart.sh", scratch / "out"});
    CHECK_MESSAGE(run.code == 3, run.out << run.err);
    CHECK(run.out.find("nothing to build") != std::string::npos);
    CHECK(fs::exists(scratch / "out/data/dataset.json"));
}

TEST_CASE("the program itself is not linked to MPI") {
    const auto needed = run_program({"readelf", "-d", build_folder() + "/bin/lockstep"});
    succeeds(needed);
    CHECK(needed.out.find("libdnnl") != std::string::npos);
    CHECK(needed.out.find("libmpi") == std::string::npos);
    CHECK(needed.out.find("libopen-pal") == std::string::npos);
    const auto loaded = run_program({"ldd", build_folder() + "/bin/lockstep"});
    CHECK(loaded.out.find("libmpi") == std::string::npos);
}
