// SPDX-License-Identifier: Apache-2.0
#include "launcher/slurm/sbatch_script.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "launcher/processes/lockstep_command.hpp"
#include "launcher/programs/submit_program.hpp"
#include "launcher/text/shell_word.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;
using tests::read_text;

namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream in(line);
    return {std::istream_iterator<std::string>(in), {}};
}

std::string script_of(const std::string& line) {
    return sbatch_script(parse_submit(words_of(line)).job);
}

SlurmJob job() {
    SlurmJob spec;
    spec.command = {"distributed_train"};
    return spec;
}

std::string refusal(const SlurmJob& spec) {
    try {
        check(spec);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "";
}

// Each line of the table in slurm/README.md: | `FILE` | ... | `lockstep submit WORDS` |
struct Template {
    std::string file, words;
};

std::vector<Template> templates() {
    std::vector<Template> found;
    std::istringstream in(read_text("slurm/README.md"));
    const std::string begin = "| `", command = "`lockstep submit ";
    for (std::string line; std::getline(in, line);) {
        const auto at = line.find(command);
        if (!line.starts_with(begin) || at == std::string::npos) continue;
        const auto from = at + command.size();
        found.push_back({line.substr(begin.size(), line.find('`', begin.size()) - begin.size()),
                         line.substr(from, line.rfind('`') - from)});
    }
    return found;
}

}  // namespace

TEST_CASE("the scripts of known specifications") {
    SlurmJob spec = job();
    SUBCASE("") { CHECK(sbatch_script(spec) == read_text("tests/golden/slurm/smallest.sbatch")); }
    spec.nodes = 4;
    spec.tasks_per_node = 8;
    spec.cpus_per_task = 6;
    spec.gpus_per_node = "a100:8";
    spec.memory = "480G";
    spec.time = "2-12:00:00";
    spec.partition = "gpu";
    spec.account = "dialogue";
    spec.qos = "long";
    spec.constraint = "ib&ssd";
    spec.name = "big";
    spec.output = "logs/%x-%j.out";
    spec.mpi = "pmix";
    spec.warning_s = 300;
    spec.setup = {"module load openmpi/4.1", "ulimit -l unlimited"};
    spec.command = {"distributed_train", "--data", "a folder", "-mf", "it's"};
    SUBCASE("") { CHECK(sbatch_script(spec) == read_text("tests/golden/slurm/full.sbatch")); }
    spec.at_time_limit = AtTimeLimit::continue_later;
    spec.model_folder = "it's";
    SUBCASE("") { CHECK(sbatch_script(spec) == read_text("tests/golden/slurm/requeue.sbatch")); }
}

TEST_CASE("the templates in slurm/ are what submit writes, and the README says for which words") {
    std::size_t scripts = 0;
    for (const auto& file : std::filesystem::directory_iterator("slurm")) {
        scripts += file.path().extension() == ".sbatch" ? 1 : 0;
    }
    CHECK(scripts >= 4);
    CHECK(templates().size() == scripts);
    for (const Template& each : templates()) {
        CAPTURE(each.file);
        CHECK(script_of(each.words) == read_text("slurm/" + each.file));
    }
}

TEST_CASE("bash reads quoted words back as they were") {
    const std::vector<std::string> words = {"plain", "",  "a b", "it's", "$HOME", "\"",
                                            "\\",    "*", "#x",  ";",    "a\nb"};
    std::string line = "printf '%s|'";
    std::string expected;
    for (const auto& word : words) {
        line += " " + shell_word(word);
        expected += word + "|";
    }
    CHECK(tests::run_program({"bash", "-c", line}).out == expected);
    CHECK(shell_word("--data=x/y") == "--data=x/y");
}

TEST_CASE("what sbatch would refuse or misread is refused, by the option's name") {
    CHECK(refusal(job()).empty());
    const auto wrong = [](auto change) {
        SlurmJob spec = job();
        change(spec);
        return refusal(spec);
    };
    CHECK(wrong([](SlurmJob& s) { s.name = "a b"; }).starts_with("--job-name: 'a b' is not"));
    CHECK(wrong([](SlurmJob& s) { s.name = ""; }).starts_with("--job-name"));
    CHECK(wrong([](SlurmJob& s) { s.partition = "x\nrm -rf y"; }).starts_with("--partition"));
    CHECK(wrong([](SlurmJob& s) { s.output = "#"; }).starts_with("--output"));
    CHECK(wrong([](SlurmJob& s) { s.memory = "64 GB"; }).starts_with("--mem"));
    CHECK(wrong([](SlurmJob& s) { s.memory = "64GB"; }).starts_with("--mem"));
    CHECK(wrong([](SlurmJob& s) { s.gpus_per_node = "none"; }).starts_with("--gpus-per-node"));
    CHECK(wrong([](SlurmJob& s) { s.nodes = 0; }).starts_with("--nodes"));
    CHECK(wrong([](SlurmJob& s) { s.setup = {"a\nb"}; }).starts_with("--setup"));
    CHECK(wrong([](SlurmJob& s) { s.command.clear(); }).find("behind --") != std::string::npos);
    CHECK(wrong([](SlurmJob& s) {
              s.at_time_limit = AtTimeLimit::continue_later;
              s.warning_s = 0;
          }).starts_with("--requeue"));
    for (const char* time : {"90", "90:00", "12:00:00", "2-12", "2-12:30", "2-12:30:15"}) {
        CHECK(wrong([&](SlurmJob& s) { s.time = time; }).empty());
    }
    for (const char* time : {"2h", "1:2:3:4", "-5", "2-", "12:"}) {
        CHECK(wrong([&](SlurmJob& s) { s.time = time; }).starts_with("--time"));
    }
}

TEST_CASE("any other option of sbatch is a line of its own, and takes part in what is checked") {
    const auto lines = [](const std::vector<std::string>& given) {
        SlurmJob spec = job();
        spec.sbatch_lines = given;
        check(spec);
        const std::string script = sbatch_script(spec);
        std::string found;
        for (const std::string& line : given) {
            const auto at = script.find("#SBATCH " + line.substr(0, line.find_first_of("= ")));
            REQUIRE(at != std::string::npos);
            found += script.substr(at + 8, script.find('\n', at) - at - 8) + "|";
        }
        return found;
    };
    CHECK(lines({"--gres=gpu:a100:4", "--exclusive", "-D /scratch"}) ==
          "--gres=gpu:a100:4|--exclusive|-D /scratch|");
    CHECK(lines({"--mail-type=END,FAIL", "--array=1-4%1"}) ==
          "--mail-type=END,FAIL|--array=1-4%1|");
    CHECK(lines({"--comment=two words #7"}) == "--comment=\"two words #7\"|");
    CHECK(lines({"--comment='two words'"}) == "--comment='two words'|");
    CHECK(lines({"--exclude n[1-3] --dependency=afterok:7"}) ==
          "--exclude n[1-3] --dependency=afterok:7|");
    const auto wrong = [](const std::string& line) {
        SlurmJob spec = job();
        spec.sbatch_lines = {line};
        return refusal(spec);
    };
    for (const std::string& line :
         {std::string("gres=gpu:4"), std::string(), std::string("--"), std::string("--a\nrm x"),
          std::string("--comment=\"x"), std::string("--a\r"), std::string("#SBATCH --a")})
        CHECK(wrong(line).starts_with("--sbatch '"));
    CHECK(wrong("--nodes=2") == "--sbatch '--nodes=2': --nodes is submit's to write: give --nodes");
    CHECK(wrong("-N2").find("give --nodes") != std::string::npos);
    CHECK(wrong("--exclusive -t 5").find("give --time") != std::string::npos);
    CHECK(wrong("-n 8").find("--nodes and --ntasks-per-node") != std::string::npos);
    CHECK(wrong("--signal=USR1@9").find("give --signal") != std::string::npos);
    SlurmJob twice = job();
    twice.gpus_per_node = "4";
    twice.sbatch_lines = {"--gres=gpu:4"};
    CHECK(refusal(twice).find("both ask for GPUs") != std::string::npos);
}

TEST_CASE("the tasks of distributed_train follow the GPUs, however they are asked for") {
    const std::string run = " -- distributed_train --data d -mf m --num-epochs 1";
    const auto tasks = [&](const std::string& words, const std::string& command) {
        return parse_submit(words_of(words + command)).job.tasks_per_node;
    };
    CHECK(tasks("-N 2 --gpus-per-node 4", run) == 4);
    CHECK(tasks("--gpus-per-node a100:8", run) == 8);
    CHECK(tasks("--sbatch --gres=gpu:4", run) == 4);
    CHECK(tasks("--sbatch=--gres=gpu:a100:2,gpu:v100:2,nvme:1", run) == 4);
    CHECK(tasks("--sbatch --gres=gpu", run) == 1);
    CHECK(tasks("-N 2 --sbatch --gpus=8", run) == 4);
    CHECK(tasks("-N 2 --sbatch --gpus=7", run) == 1);
    CHECK(tasks("--sbatch --exclusive", run) == 1);
    CHECK(tasks("--gpus-per-node 4 --ntasks-per-node 2", run) == 2);
    CHECK(tasks("--gpus-per-node 4", " -- distributed_launch --nproc-per-node 4 train.py") == 1);
    CHECK(tasks("--gpus-per-node 4", " -- distributed_eval -mf m --data d") == 4);
    const auto warnings = [&](const std::string& words, const std::string& command) {
        std::string all;
        for (const auto& one : parse_submit(words_of(words + command)).warnings) all += one + "\n";
        return all;
    };
    CHECK(warnings("--gpus-per-node 4 --ntasks-per-node 2", run)
              .find("4 GPUs of each host for 2 ranks, and the others are idle") !=
          std::string::npos);
    CHECK(warnings("--gpus-per-node 4", " -- train --data d -mf m --num-epochs 1")
              .find("start distributed_train") != std::string::npos);
    CHECK(warnings("--gpus-per-node 4", run).find("idle") == std::string::npos);
    CHECK(warnings("--sbatch --array=1-4", run).find("write %1") != std::string::npos);
    CHECK(warnings("--sbatch --array=1-4%1", run).find("%1") == std::string::npos);
    const std::string many = "--gpus-per-node 4 --ntasks-per-node 8";
    CHECK_THROWS_WITH_AS(tasks(many, run), doctest::Contains("give --ntasks-per-node 4"), Error);
    CHECK(tasks(many, run + " --allow-shared-gpu") == 8);
    CHECK(tasks(many, run + " --device cpu") == 8);
}

TEST_CASE("--setup and --sbatch may be repeated, and all of them are in the script") {
    const auto spec =
        parse_submit({"--setup", "module load a", "--setup=export B=1", "--setup", "c", "d",
                      "--sbatch", "--exclusive", "--sbatch", "--gres=gpu:1", "--", "hostname"})
            .job;
    CHECK(spec.setup == std::vector<std::string>{"module load a", "export B=1", "c", "d"});
    CHECK(spec.sbatch_lines == std::vector<std::string>{"--exclusive", "--gres=gpu:1"});
}

TEST_CASE("Lockstep's own programs are known by every way to type them") {
    CHECK(lockstep_program({"distributed_train", "-bs"}) == "distributed_train");
    CHECK(lockstep_program({"/usr/bin/distributed_train"}) == "distributed_train");
    CHECK(lockstep_program({"lockstep", "distributed-train"}) == "distributed_train");
    CHECK(lockstep_program({"./lockstep", "eval"}) == "eval");
    CHECK(lockstep_program({"lockstep", "mp_train"}) == "multiprocessing_train");
    CHECK(lockstep_program({"train_model", "-bs"}) == "train");
    CHECK(lockstep_program({"lockstep"}).empty());
    CHECK(lockstep_program({"python3", "train"}).empty());
    CHECK(with_own_binary({"python3", "train"}) == std::vector<std::string>{"python3", "train"});
    CHECK(with_own_binary({"./eval"}) == std::vector<std::string>{"./eval"});
    const auto own = with_own_binary({"distributed_train", "-bs"});
    CHECK(own.front().starts_with("/"));
    CHECK(own[1] == "distributed_train");
    CHECK(with_own_binary({"lockstep", "eval"})[1] == "eval");
}
