// SPDX-License-Identifier: Apache-2.0
// The program as users start it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/launcher/report/well_formed.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;

namespace fs = std::filesystem;

namespace {

const std::string made_folder = "tests/golden/report/model";

void shows(const std::string& page, const std::vector<std::string>& words) {
    const std::string html = read_text(page);
    CHECK(not_well_formed(html) == "");
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(html.find(word) != std::string::npos);
    }
}

void refused(const std::string& line, const std::vector<std::string>& words) {
    const auto run = run_line("lockstep report " + line);
    says(run, 2, words);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("a trained model's folder becomes a page, and two become one") {
    const PreparedDialogues prepared;
    const std::string options = " --data " + prepared.data +
                                " --embedding-size 16 --n-layers 1 --ffn-size 16 -bs 4 --threads 1 "
                                "--quiet --log-every-n-steps 2 --num-epochs -1 ";
    const auto one = run_line("train -mf " + prepared.model + options + "--max-train-steps 6");
    REQUIRE_MESSAGE(one.code == 0, one.out << one.err);
    const auto report = run_line("lockstep report -mf " + prepared.model);
    says(report, 0, {prepared.model + "/report.html\n"});
    shows(prepared.model + "/report.html",
          {"the number of steps is reached", "6 steps, 6 updates", "1 rank on cpu", "no validation",
           "Perplexity", "Time of the steps", "step-00000006", "one rank: nothing to exchange"});

    const std::string other = prepared.scratch / "other";
    const auto two = run_line("multiprocessing_train --distributed-world-size 2 -mf " + other +
                              options + "--max-train-steps 4 --learningrate 0.01");
    REQUIRE_MESSAGE(two.code == 0, two.out << two.err);
    const std::string both = prepared.scratch / "both.html";
    says(run_line("lockstep report -mf " + prepared.model + " " + other + " --out " + both), 0,
         {both});
    shows(both, {"2 training runs", "2 ranks on cpu", "Communication that was hidden",
                 "<th scope=\"row\">--learningrate</th><td>–</td><td>0.01</td>"});
    for (const auto& [over, title] : {std::pair{"epochs", ">epoch<"},
                                      {"tokens", ">label tokens<"},
                                      {"time", ">minutes of training<"}}) {
        says(run_line("lockstep report -mf " + prepared.model + " " + other + " --out " + both +
                      " --over " + over),
             0, {both});
        shows(both, {title});
    }
    // A page is replaced, another file is not.
    says(run_line("lockstep report -mf " + other + " --out " + both), 0, {});
    shows(both, {"Training run"});
    refused("-mf " + other + " --out " + other + "/metrics.jsonl", {"is no page of report"});
    CHECK(read_text(other + "/metrics.jsonl").starts_with("{"));
    // Nothing but the page was written, and the run goes on.
    CHECK(prepared.scratch.names("model").contains("report.html"));
    const auto more = run_line("train -mf " + prepared.model + options + "--max-train-steps 8");
    CHECK_MESSAGE(more.code == 0, more.out << more.err);
    says(run_line("lockstep report -mf " + prepared.model), 0, {});
    shows(prepared.model + "/report.html", {"8 steps, 8 updates"});
}

TEST_CASE("a page tells with what a run was continued, another data set too") {
    const PreparedDialogues prepared;
    const std::string second = prepared.scratch / "second";
    copy_head("examples/shakespeare/valid.txt", prepared.scratch / "valid.txt", 40);
    const auto prepare = [&](const std::string& text, const std::string& out) {
        says(run_line("lockstep prepare --dict-file " + prepared.data + "/dictionary.txt --input " +
                      (prepared.scratch / text) + " --overwrite --out " + out),
             0, {});
    };
    const auto train = [&](const std::string& options) {
        says(run_line("train -mf " + prepared.model + " --quiet " + options), 0, {});
    };
    const std::string page = prepared.model + "/report.html";
    const auto report = [&] {
        says(run_line("lockstep report -mf " + prepared.model), 0, {});
        return read_text(page);
    };
    prepare("train.txt", second);
    train("--data " + second +
          " --embedding-size 16 --n-layers 1 --ffn-size 16 -bs 4 --threads 1 "
          "--num-epochs 1");
    CHECK(report().find("Continued") == std::string::npos);
    // The path is the same, and the rows are others.
    prepare("valid.txt", second);
    train("--num-epochs 2");
    shows(page, {});
    const std::string once = report();
    CHECK(once.find("<th scope=\"row\">Continued</th>") != std::string::npos);
    CHECK(once.find("after step 15 with --num-epochs 2 instead of 1; another data set: ") !=
          std::string::npos);
    train("--num-epochs 3 --learningrate 0.5");
    const std::string twice = report();
    CHECK(twice.find("; another data set: ") != std::string::npos);
    CHECK(twice.find("; after step 25 with --learningrate 0.5 instead of ") != std::string::npos);
}

TEST_CASE("a folder with a hostile name is only a name") {
    const ScratchFolder scratch;
    const std::string folder = scratch / "<script>alert(1)<\xff>";
    fs::copy(made_folder, folder, fs::copy_options::recursive);
    const auto run = run_program({"lockstep", "report", "-mf", folder});
    says(run, 0, {});
    const std::string html = read_text(folder + "/report.html");
    CHECK(html.find("&lt;script&gt;alert(1)&lt;\uFFFD&gt;") != std::string::npos);
    CHECK(html.find("<script") == std::string::npos);
    CHECK(not_well_formed(html) == "");
}

TEST_CASE("a report of nothing is refused in one line, and nothing is written") {
    const ScratchFolder scratch;
    const std::string out = scratch / "page.html";
    refused("--out " + out, {"-mf is needed"});
    refused("-mf " + (scratch / "none") + " --out " + out, {"is no folder"});
    refused("-mf " + std::string(5000, 'x') + " --out " + out, {"cannot be looked at"});
    refused("-mf " + made_folder + " --out " + std::string(5000, 'x'), {"xxx"});
    refused("-mf " + scratch.path() + " --out " + out, {"no config.json"});
    fs::copy_file(made_folder + "/config.json", scratch / "config.json");
    refused("-mf " + scratch.path() + " --out " + out, {"metrics.jsonl", "is not there"});
    write_text(scratch / "metrics.jsonl", "no line of a run\n");
    refused("-mf " + scratch.path() + " --out " + out, {"none of its lines"});
    write_text(scratch / "config.json", "{");
    refused("-mf " + scratch.path() + " --out " + out, {"config.json"});
    refused("-mf " + made_folder + " --out " + (scratch / "none/page.html"),
            {"there is no folder"});
    refused("-mf " + made_folder + " --out " + scratch.path(), {"is a folder; name a file"});
    refused("-mf " + made_folder + " --out /proc/page.html", {"/proc"});
    std::string many = "-mf";
    for (int i = 0; i < 9; ++i) many += " " + made_folder;
    refused(many + " --out " + out, {"at most 8 runs"});
    CHECK_FALSE(fs::exists(out));
    CHECK_FALSE(fs::exists(made_folder + "/report.html"));
    CHECK(scratch.names() == std::set<std::string>{"config.json", "metrics.jsonl"});
}
