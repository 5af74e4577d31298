// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

namespace lockstep::tests {

// Data of a few dialogues, and runs of a tiny model on it by lockstep_emulated_gpu.
struct EmulatedGpuRuns {
    ScratchFolder scratch;
    std::string data = scratch / "data";

    EmulatedGpuRuns() {
        copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 40);
        copy_head("examples/shakespeare/valid.txt", scratch / "valid.txt", 6);
        const auto run = run_line("lockstep prepare --input " + (scratch / "train.txt") +
                                  " --valid " + (scratch / "valid.txt") + " --out " + data);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
    std::string model(const std::string& name) const { return scratch / name; }

    ProgramResult train(const std::string& name, const std::string& more) const {
        const auto run =
            run_line("lockstep_emulated_gpu train --data " + data + " -mf " + model(name) +
                     " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 "
                     "--dropout 0.1 -bs 2 -tr 16 --seed 3 --log-every-n-steps 1 "
                     "--validation-max-exs 3 --threads 1 " +
                     more);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        return run;
    }
    std::string words_of(const std::string& program, const std::string& name,
                         const std::string& more) const {
        const auto run =
            run_line("lockstep_emulated_gpu " + program + " -mf " + model(name) + " " + more);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        return run.out;
    }
};

}  // namespace lockstep::tests
