// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/continuing_command.hpp"

#include <doctest/doctest.h>

#include "launcher/options/run_command.hpp"

using namespace lockstep::launcher;

TEST_CASE("the command that continues names what belongs to a launch and was given, no more") {
    const auto command = [](std::vector<std::string> words) {
        words.insert(words.end(), {"--data", "data", "-mf", "a model", "--max-train-steps", "1"});
        return continuing_command("lockstep train", Ranks::of_job,
                                  *parse_run(Task::train, "", words));
    };
    CHECK(command({"--zero", "1"}) == "lockstep train -mf 'a model', started on as many ranks");
    CHECK(command({"--zero", "1", "--zero-ranks", "2", "--threads", "3"}) ==
          "lockstep train --threads 3 --zero-ranks 2 -mf 'a model', started on as many ranks");
}
