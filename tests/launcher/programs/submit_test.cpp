// SPDX-License-Identifier: Apache-2.0
// submit with a fake sbatch, and its job script with fakes of srun and scontrol.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "launcher/programs/stop_time.hpp"
#include "launcher/programs/submit_program.hpp"
#include "launcher/slurm/sbatch_script.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using namespace lockstep::tests;

namespace {

const std::string command = " -- distributed_train --data data -mf model --num-epochs 1";

// Programs of this test that stand before all others on PATH.
struct Fakes {
    Fakes() { std::filesystem::create_directory(folder / "data"); }
    void add(const std::string& name, const std::string& script) {
        write_text(folder / name, "#!/bin/bash\n" + script);
        std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    }
    ProgramInput input() const {
        ProgramInput input;
        input.folder = folder / "";
        input.environment["PATH"] = (folder / "") + ":" + std::getenv("PATH");
        input.environment["SLURM_JOB_ID"] = "77";
        return input;
    }
    ScratchFolder folder;
};

// A scontrol that knows when the job was preempted and notes that it was queued again.
std::string requeues_only(const std::string& preempted) {
    return "[ $1 = show ] && echo PreemptTime=" + preempted +
           "\n[ $1 = requeue ] && echo \"$@\" > requeued\n";
}

std::string refusal(const std::string& words) {
    const ProgramResult run = run_line("lockstep submit --dry-run " + words);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    return run.err;
}

}  // namespace

TEST_CASE("submit writes the script and gives it to sbatch") {
    Fakes fakes;
    fakes.add("sbatch", "echo \"$#:$1\"; cat \"$1\" > seen; echo Submitted batch job 77\n");
    const ProgramResult run =
        run_line("lockstep submit -J two --nodes=2 -c 4" + command, fakes.input());
    CAPTURE(run.err);
    CHECK(run.code == 0);
    CHECK(run.out == "1:two.sbatch\nSubmitted batch job 77\n");
    const std::string script = read_text(fakes.folder / "two.sbatch");
    CHECK(script == read_text(fakes.folder / "seen"));
    CHECK(script.find("#SBATCH --nodes=2\n") != std::string::npos);
    CHECK(script.find("/lockstep distributed_train --data data") != std::string::npos);
    CHECK(run_line("lockstep submit -J two --nodes=3" + command, fakes.input()).code == 0);
    CHECK(read_text(fakes.folder / "seen").find("--nodes=3\n") != std::string::npos);
}

TEST_CASE("--dry-run prints the script and does nothing else") {
    Fakes fakes;
    fakes.add("sbatch", "touch called\n");
    const ProgramResult run =
        run_line("lockstep submit --dry-run --ntasks-per-node 4" + command, fakes.input());
    CHECK(run.code == 0);
    CHECK(run.out.starts_with(sbatch_header));
    CHECK_FALSE(std::filesystem::exists(fakes.folder / "called"));
    CHECK_FALSE(std::filesystem::exists(fakes.folder / "lockstep.sbatch"));
}

TEST_CASE("a failing sbatch, a missing one, and a script that somebody wrote") {
    Fakes fakes;
    fakes.add("sbatch", "echo no such partition >&2; exit 1\n");
    const ProgramResult failed = run_line("lockstep submit -p none" + command, fakes.input());
    CHECK(failed.code == 2);
    CHECK(failed.err.find("no such partition\nsubmit: sbatch refused lockstep.sbatch") == 0);
    ProgramInput bare = fakes.input();
    bare.environment["PATH"] = "/nowhere";
    std::filesystem::remove(fakes.folder / "lockstep.sbatch");
    const ProgramResult missing = run_line("lockstep submit" + command, bare);
    CHECK(missing.code == 2);
    CHECK(missing.err.find("sbatch is not on PATH") != std::string::npos);
    CHECK(std::filesystem::exists(fakes.folder / "lockstep.sbatch"));
    write_text(fakes.folder / "mine.sbatch", "#!/bin/bash\nsrun mine\n");
    const ProgramResult hand =
        run_line("lockstep submit --script mine.sbatch" + command, fakes.input());
    CHECK(hand.code == 2);
    CHECK(read_text(fakes.folder / "mine.sbatch") == "#!/bin/bash\nsrun mine\n");
    const ProgramResult folder = run_line("lockstep submit --script ." + command, fakes.input());
    CHECK(folder.code == 2);
    CHECK(folder.err == "submit: --script .: is a folder; name a file\n");
}

TEST_CASE("what the ranks would refuse in hours is refused now") {
    CHECK(refusal("--nodes 2" + command + " --distributed-world-size 3")
              .find("--distributed-world-size 3: the job has 2 ranks") != std::string::npos);
    CHECK(refusal("--nodes 2147483647 --ntasks-per-node 2147483647" + command).find("65536") !=
          std::string::npos);
    CHECK(refusal("").find("behind --: lockstep submit [options]") != std::string::npos);
    for (const std::string words : {"--gres=gpu:4", "--exclude n1", "--exclusive"})
        CHECK(refusal(words + command).find("passed on by --sbatch, as --sbatch --gres=gpu:4\n") !=
              std::string::npos);
    for (const char* words : {"train --data d -mf m", "--nodes 2 distributed_train --data d",
                              "--setup load distributed_train --data d"})
        CHECK(refusal(words).find("; what the job runs stands behind --: lockstep submit ") !=
              std::string::npos);
    CHECK(refusal("-- distributed_train --data d -mf m --num-epoch 1")
              .find("did you mean --num-epochs") != std::string::npos);
    CHECK(refusal("-- distributed_train --data d -mf m").find("--max-train-steps") !=
          std::string::npos);
    CHECK(refusal("-N 2 -- lockstep train --data d -mf m --num-epochs 1")
              .find("start distributed_train") != std::string::npos);
    CHECK(refusal("-N 2 -- multiprocessing_eval --data d -mf m").find("start distributed_eval") !=
          std::string::npos);
    CHECK(refusal("--signal TERM@5" + command).find("--signal") != std::string::npos);
    CHECK(refusal("--signal USR1@0" + command).find("--signal") != std::string::npos);
    CHECK(refusal("--requeue --signal off" + command).find("--requeue") != std::string::npos);
    CHECK(refusal("--node 2" + command).find("did you mean --nodes") != std::string::npos);
}

TEST_CASE("a secret with which no rank would start is refused now, and absent data are told") {
    const ScratchFolder folder;
    const std::string file = folder / "secret";
    CHECK(refusal(command.substr(1) + " --secret-file " + file).find("cannot be read") !=
          std::string::npos);
    write_text(file, "0123456789abcdef0123456789abcdef\n");
    std::filesystem::permissions(file, std::filesystem::perms(0644));
    CHECK(refusal(command.substr(1) + " --secret-file " + file).find("chmod 600") !=
          std::string::npos);
    std::filesystem::permissions(file, std::filesystem::perms(0600));
    const auto run = run_line("lockstep submit --dry-run" + command + " --secret-file " + file,
                              {"", {}, folder / ""});
    CHECK(run.code == 0);
    CHECK(run.err.find("warning: --data data: is not there on this host") != std::string::npos);
    const auto shortened =
        run_line("lockstep submit --dry-run" + command, {"", {{"LOCKSTEP_SECRET", "short"}}, ""});
    CHECK(shortened.code == 2);
    CHECK(shortened.err.find("LOCKSTEP_SECRET") != std::string::npos);
}

TEST_CASE("a job that queues itself again is warned when it saves nothing on the way") {
    const auto told = [](const std::string& words) {
        return run_line(
                   "lockstep submit --dry-run --requeue -- distributed_train --data d -mf m "
                   "--num-epochs 1" +
                   words)
                   .err.find("saves no checkpoint before its end") != std::string::npos;
    };
    CHECK(told(" --save-every-n-secs -1"));
    CHECK_FALSE(told(""));
    CHECK_FALSE(told(" --save-every-n-secs -1 --save-every-n-steps 500"));
    CHECK_FALSE(told(" --save-every-n-secs -1 --validation-every-n-epochs 1"));
}

TEST_CASE("a warning that is shorter than a checkpoint may take is told") {
    CHECK(warning_of_slow_stop(12e9, 120) ==
          "warning: a checkpoint of 11.2 GiB may take 120 s (at 100 MB/s; lockstep doctor measures "
          "it), and the ranks are told 120 s before the time limit: give --signal USR1@240");
    CHECK(warning_of_slow_stop(6e9, 120).empty());
    CHECK(warning_of_slow_stop(12e9, 240).empty());
    CHECK(warning_of_slow_stop(12e9, 0).empty());  // nobody is told
    const ScratchFolder scratch;
    const std::string data = scratch / "data";
    REQUIRE(run_line("lockstep prepare --input examples/shakespeare/train.txt --out " + data +
                     " --dict-maxtokens 300")
                .code == 0);
    const auto told = [&](const std::string& signal) {
        return run_line("lockstep submit --dry-run --signal " + signal +
                        " -- distributed_train --data " + data + " -mf " + (scratch / "model") +
                        " --num-epochs 1 -m transformer/generator --n-layers 24 --n-heads 16 "
                        "--embedding-size 1024 --ffn-size 4096")
            .err;
    };
    CHECK(told("USR1@60").find("give --signal USR1@") != std::string::npos);
    CHECK(told("USR1@1200").empty());
}

TEST_CASE("only programs that heed the warning get it unasked") {
    const auto script = [](const std::string& words) {
        return run_line("lockstep submit --dry-run " + words).out;
    };
    const auto warned = [&](const std::string& words) {
        return script(words).find("--signal=USR1@120") != std::string::npos;
    };
    CHECK(warned("-- distributed_train --data d -mf m --num-epochs 1"));
    CHECK_FALSE(warned("--signal off -- distributed_train --data d -mf m --num-epochs 1"));
    CHECK_FALSE(warned("-- distributed_launch train.py"));
    CHECK_FALSE(warned("-- python3 train.py"));
    CHECK(warned("--signal USR1@120 -- python3 train.py"));
}

TEST_CASE("the job script starts the ranks with a secret and with their exit code") {
    Fakes fakes;
    fakes.add("srun", "echo \"$LOCKSTEP_SECRET\" > secret; printf '%s|' \"$@\" > words; exit 3\n");
    SlurmJob spec;
    spec.command = {"distributed_train", "-mf", "a b"};
    spec.setup = {"export SEEN=yes"};
    for (const AtTimeLimit end : {AtTimeLimit::stop, AtTimeLimit::continue_later}) {
        spec.at_time_limit = end;
        write_text(fakes.folder / "job", sbatch_script(spec));
        CHECK(run_line("bash job", fakes.input()).code == 3);
        CHECK(read_text(fakes.folder / "words") ==
              "--kill-on-bad-exit=1|distributed_train|-mf|a b|");
        CHECK(read_text(fakes.folder / "secret").size() == 65);
    }
}

TEST_CASE("the warning before the time limit reaches the ranks, and then the job is requeued") {
    Fakes fakes;
    fakes.add("scontrol", requeues_only("None"));
    SlurmJob spec;
    spec.command = {"distributed_train"};
    spec.at_time_limit = AtTimeLimit::continue_later;
    write_text(fakes.folder / "job", sbatch_script(spec));
    const std::string tell = "bash job & job=$!; until [ -e ready ]; do sleep 0.01; done; kill -";
    int code = 0;
    std::string signal = "USR1";
    SUBCASE("stopped at a checkpoint") {}
    SUBCASE("failed") { code = 1; }
    SUBCASE("cancelled") { signal = "TERM"; }
    // The fake takes a moment to stop, as ranks that save do, and Slurm tells TERM to both.
    fakes.add("srun", "trap 'sleep 0.1; exit " + std::to_string(code) +
                          "' USR1 TERM; echo $$ > ready; while :; do sleep 0.01; done\n");
    const std::string both = signal == "TERM" ? " $(cat ready)" : "";
    const ProgramResult run =
        run_program({"bash", "-c", tell + signal + " $job" + both + "; wait $job"}, fakes.input());
    CHECK(run.code == code);
    const bool requeued = std::filesystem::exists(fakes.folder / "requeued");
    CHECK(requeued == (signal == "USR1" && code == 0));
    if (requeued) CHECK(read_text(fakes.folder / "requeued") == "requeue 77\n");
}

TEST_CASE("a job that was preempted and stopped in time is queued again, a cancelled one is not") {
    Fakes fakes;
    SlurmJob spec;
    spec.command = {"distributed_train"};
    spec.at_time_limit = AtTimeLimit::continue_later;
    write_text(fakes.folder / "job", sbatch_script(spec));
    std::string at = "None", code = "0";  // the ranks had TERM, and saved
    SUBCASE("cancelled") {}
    SUBCASE("preempted") { at = "2026-11-22T14:28:42"; }
    SUBCASE("cancelled while the ranks waited for each other") { code = "143"; }
    SUBCASE("preempted while the ranks waited for each other") {
        at = "2026-11-22T14:28:42";
        code = "143";
    }
    fakes.add("srun", "exit " + code + "\n");
    fakes.add("scontrol", requeues_only(at));
    const bool again = at != "None";
    CHECK(run_line("bash job", fakes.input()).code == (again ? 0 : std::stoi(code)));
    CHECK(std::filesystem::exists(fakes.folder / "requeued") == again);
}

TEST_CASE("a job whose pieces save nothing twice in a row is not queued again") {
    Fakes fakes;
    SlurmJob spec;
    spec.command = {"distributed_train"};
    spec.model_folder = "a model";
    spec.at_time_limit = AtTimeLimit::continue_later;
    write_text(fakes.folder / "job", sbatch_script(spec));
    fakes.add("scontrol", requeues_only("2026-11-22T14:28:42"));
    const auto piece = [&](const std::string& saves) {
        std::filesystem::remove(fakes.folder / "requeued");
        fakes.add("srun",
                  saves.empty() ? "exit 0\n" : "mkdir -p 'a model/checkpoints/" + saves + "'\n");
        return run_line("bash job", fakes.input());
    };
    const auto queued_again = [&] { return std::filesystem::exists(fakes.folder / "requeued"); };
    CHECK(piece("").code == 0);
    CHECK(queued_again());
    CHECK(piece("step-00000005").code == 0);
    CHECK(queued_again());
    CHECK(piece("step-00000005.tmp-7").code == 0);
    CHECK(queued_again());
    CHECK(piece("step-100000000").code == 0);
    CHECK(queued_again());
    CHECK(piece("").code == 0);
    CHECK(queued_again());
    const ProgramResult idle = piece("");
    CHECK(idle.code == 1);
    CHECK(idle.err.find("saved no checkpoint after step-100000000,") != std::string::npos);
    CHECK_FALSE(queued_again());
}

TEST_CASE("a job that lost a host is queued again, but not one that failed or was cancelled") {
    Fakes fakes;
    fakes.add("scontrol", requeues_only("None"));
    SlurmJob spec;
    spec.command = {"distributed_train"};
    spec.model_folder = "model";
    spec.at_time_limit = AtTimeLimit::continue_later;
    write_text(fakes.folder / "job", sbatch_script(spec));
    std::string cause = "lost", tell = ":";
    bool again = false;
    SUBCASE("lost") { again = true; }
    SUBCASE("silent") {
        cause = "silent";
        again = true;
    }
    SUBCASE("failed") { cause = "failed"; }
    SUBCASE("cancelled") { tell = "kill -TERM $PPID; sleep 0.3"; }
    fakes.add("srun", "mkdir -p model; echo '  \"cause\": \"" + cause +
                          "\",' > model/failure.json; " + tell + "; exit 3\n");
    CHECK(run_line("bash job", fakes.input()).code == (again ? 0 : 3));
    CHECK(std::filesystem::exists(fakes.folder / "requeued") == again);
}
