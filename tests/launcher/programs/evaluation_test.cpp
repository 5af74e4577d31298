// SPDX-License-Identifier: Apache-2.0
// Evaluation as it is asked for on the command line: real processes, real text.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/files.hpp"
#include "tests/support/program_checks.hpp"

using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

// Dialogues with the splits train, valid (30 rows) and test (20 rows).
struct Splits {
    ScratchFolder scratch;
    std::string data = scratch / "data", model = scratch / "model";

    Splits() {
        copy_head("examples/shakespeare/train.txt", scratch / "train.txt", 60);
        copy_head("examples/shakespeare/valid.txt", scratch / "valid.txt", 30);
        copy_head("examples/shakespeare/valid.txt", scratch / "test.txt", 20);
        const auto run = run_line("lockstep prepare --dict-lower true --input " +
                                  (scratch / "train.txt") + " --valid " + (scratch / "valid.txt") +
                                  " --test " + (scratch / "test.txt") + " --out " + data);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }

    ProgramResult train(const std::string& more) const {
        return run_line("train --data " + data + " -mf " + model +
                        " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 --threads 1 "
                        "--precision fp32 -bs 8 -lr 0.01 --text-truncate 32 --label-truncate 16 " +
                        more);
    }
    void train_briefly() const {
        const auto run = train("--max-train-steps 8");
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
    }
    std::string eval(const std::string& program, const std::string& more) const {
        const auto run =
            run_line(program + " --data " + data + " -mf " + model +
                     " --threads 1 --precision fp32 --text-truncate 32 "
                     "--label-truncate 16 " +
                     (contains(more, "--skip-generation") ? "" : "--max-length 12 ") + more);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        return run.out;
    }
};

std::vector<Json> json_lines(const std::string& path) {
    std::istringstream lines(read_text(path));
    std::vector<Json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
    return all;
}

std::vector<Json> finals(const std::string& model) {
    std::vector<Json> lines = json_lines(model + "/metrics.jsonl");
    std::erase_if(lines, [](const Json& line) { return line.at("kind") != "final"; });
    return lines;
}

void same_within(const Json& a, const Json& b, double tolerance) {
    REQUIRE(a.size() == b.size());
    for (const auto& [name, value] : a.items()) {
        CAPTURE(name);
        CHECK(value.get<double>() == doctest::Approx(b.at(name).get<double>()).epsilon(tolerance));
    }
}

}  // namespace

TEST_CASE("when training ends, valid and test are evaluated whole, and written down") {
    const Splits splits;
    const auto run = splits.train("--max-train-steps 4 -vstep 2 -vme 5");
    says(run, 0,
         {"evaluating the best weights on valid", "the model with the best weights, valid: ",
          "evaluating the best weights on test", "the model with the best weights, test: "});
    auto lines = finals(splits.model);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].at("split") == "valid");
    CHECK(lines[0].at("examples") == 30);
    CHECK(lines[0].at("best") == true);
    CHECK(lines[0].at("token_em").is_number());
    CHECK_FALSE(lines[0].contains("f1"));  // without replies
    CHECK(lines[1].at("split") == "test");
    CHECK(lines[1].at("examples") == 20);
    CHECK(lines[1].at("step") == 4);
    const Json report = Json::parse(read_text(splits.model + "/report.json"));
    CHECK(report.at("final_valid_report").at("ppl") == lines[0].at("ppl"));
    CHECK(report.at("final_test_report").at("ppl") == lines[1].at("ppl"));
    CHECK(report.at("opt").at("max-train-steps") == "4");
    CHECK(report.at("memory").at("peak_bytes").size() == 1);
    CHECK(report.at("memory").at("peak_bytes")[0] > 1'000'000);
    CHECK(report.at("memory").at("total_bytes") > 1'000'000);
    CHECK(report.at("memory").at("parts")[0].at("name") == "weights, fp32");
    // The run goes on: its end is another one.
    says(splits.train("--max-train-steps 6 -vstep 2 -vme 5 --short-final-eval true"), 0, {});
    lines = finals(splits.model);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].at("step") == 6);
    CHECK(lines[0].at("examples") == 5);
}

TEST_CASE("without validations the weights are the last ones, and are called so") {
    const Splits splits;
    const auto run = splits.train("--max-train-steps 2");
    says(run, 0, {"the model with the last weights, valid: "});
    CHECK(run.out.find("best weights") == std::string::npos);
    CHECK(finals(splits.model).at(0).at("best") == false);
}

TEST_CASE("updates behind the last validation are told of, since their weights are not the model") {
    const Splits splits;
    const auto validated = splits.train("--max-train-steps 2 -vstep 2");
    says(validated, 0, {"with the best weights"});
    CHECK(validated.out.find("the last validation") == std::string::npos);
    says(splits.train("--max-train-steps 3 -vstep -1"), 0,
         {"the last validation was after update 2; the weights of the 1 update since"});
    says(splits.train("--max-train-steps 5 -vstep -1"), 0,
         {"the last validation was after update 2; the weights of the 3 updates since"});
}

TEST_CASE("the validation at the end of a continued run is the last one") {
    const Splits splits;
    says(splits.train("--max-train-steps 4 -vstep 2"), 0, {});
    const auto run = splits.train("--max-train-steps 5 -vstep 2");
    says(run, 0, {"valid at step 5"});
    CHECK(run.out.find("the last validation was") == std::string::npos);
}

TEST_CASE("1, 2 and 4 ranks report and log the same") {
    const Splits splits;
    splits.train_briefly();
    const std::string one = splits.scratch / "1.json", log = splits.scratch / "1.jsonl";
    splits.eval("lockstep eval", "--metrics all -rf " + one + " --world-logs " + log);
    const Json report = Json::parse(read_text(one)).at("report");
    CHECK(report.size() == 21);
    const auto rows = json_lines(log);
    REQUIRE(rows.size() == 30);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].at("row") == i);
        CHECK_FALSE(rows[i].at("text").get<std::string>().empty());
        CHECK(rows[i].at("labels").size() >= 1);
        CHECK(rows[i].at("reply").is_string());
        CHECK(rows[i].at("metrics").at("rouge_L").is_number());
    }
    double f1 = 0;
    for (const Json& row : rows) f1 += row.at("metrics").at("f1").get<double>() / 30;
    CHECK(f1 == doctest::Approx(report.at("f1").get<double>()));
    for (const std::string ranks : {"2", "4"}) {
        CAPTURE(ranks);
        const std::string file = splits.scratch / (ranks + ".json"),
                          own_log = splits.scratch / (ranks + ".jsonl");
        splits.eval("multiprocessing_eval --distributed-world-size " + ranks,
                    "-bs 4 --metrics all -rf " + file + " --world-logs " + own_log);
        same_within(Json::parse(read_text(file)).at("report"), report, 1e-6);
        const auto own = json_lines(own_log);
        REQUIRE(own.size() == rows.size());
        for (std::size_t i = 0; i < own.size(); ++i) {
            CHECK(own[i].at("row") == rows[i].at("row"));
            CHECK(own[i].at("text") == rows[i].at("text"));
            CHECK(own[i].at("labels") == rows[i].at("labels"));
            CHECK(own[i].at("reply") == rows[i].at("reply"));
            same_within(own[i].at("metrics"), rows[i].at("metrics"), 1e-6);
        }
    }
}

TEST_CASE("what there is nothing to compare with is not generated, and a line says so") {
    const Splits splits;
    splits.train_briefly();
    const std::string log = splits.scratch / "log.jsonl";
    const std::string out = splits.eval("lockstep eval", "--split train --world-logs " + log);
    CHECK(out.find("no replies are generated: ") != std::string::npos);
    CHECK(out.find("train ppl ") != std::string::npos);
    CHECK(out.find("f1") == std::string::npos);
    const auto rows = json_lines(log);
    REQUIRE(rows.size() == 60);
    CHECK_FALSE(rows[0].contains("reply"));
    CHECK_FALSE(rows[0].at("labels").at(0).get<std::string>().empty());
}

TEST_CASE("plain text has no replies to choose the best model by") {
    const ScratchFolder scratch;
    const std::string text = scratch / "text.txt", data = scratch / "data";
    copy_head("examples/shakespeare/train.txt", text, 40);
    says(run_line("lockstep prepare --format text --block-size 16 --input " + text + " --valid " +
                  text + " --out " + data),
         0, {});
    const std::string train = "train -m gpt2 --data " + data + " -mf " + (scratch / "model") +
                              " --embedding-size 16 --n-layers 1 --ffn-size 16 --n-heads 2 "
                              "--threads 1 --max-train-steps 2 -vstep 1 --skip-generation false ";
    for (const char* metric : {"f1", "accuracy", "bleu-4", "rouge_L"}) {
        CAPTURE(metric);
        says(run_line(train + "-vmt " + metric), 2, {metric, "holds plain text", "give ppl"});
        CHECK_FALSE(fs::exists(scratch / "model"));
    }
    const auto run = run_line(train);
    says(run, 0, {"no replies are generated: "});
    CHECK(run.out.find("| f1 ") == std::string::npos);
    const auto eval = run_line("lockstep eval --data " + data + " -mf " + (scratch / "model"));
    says(eval, 0, {"no replies are generated: ", "valid token_em 0", "valid examples "});
    CHECK(eval.out.find("bleu") == std::string::npos);
    says(run_line("display_model --data " + data + " -mf " + (scratch / "model")), 2,
         {"plain text"});
}

TEST_CASE("the best model is chosen by accuracy, token_em or ROUGE") {
    const Splits splits;
    for (const std::string metric : {"accuracy", "token_em", "rouge_L", "interdistinct-2"}) {
        CAPTURE(metric);
        fs::remove_all(splits.model);
        const auto run = splits.train(
            "--max-train-steps 2 -vstep 1 --skip-generation false "
            "--max-length 8 -vmt " +
            metric);
        REQUIRE_MESSAGE(run.code == 0, run.out << run.err);
        CHECK(finals(splits.model).at(0).at(metric).is_number());
    }
    says(splits.train("--max-train-steps 2 -vmt accuracy --skip-generation true"), 2,
         {"accuracy", "--skip-generation"});
    says(splits.train("--max-train-steps 2 --metrics f1,hits@1"), 2, {"hits@1"});
}

TEST_CASE("a report and a log are written where they can be, or refused before anything starts") {
    const Splits splits;
    splits.train_briefly();
    const std::string nowhere = splits.scratch / "none/file";
    const std::string command = "lockstep eval --data " + splits.data + " -mf " + splits.model;
    says(run_line(command + " -rf " + nowhere), 2, {"--report-filename", nowhere});
    says(run_line(command + " --world-logs " + splits.scratch.path()), 2,
         {"--world-logs", "folder"});
    splits.eval("lockstep eval", "-rf .valid -ne 4 --skip-generation true");
    const Json report = Json::parse(read_text(splits.model + ".valid"));
    CHECK(report.at("report").at("examples") == 4);
    CHECK(report.at("opt").at("num-examples") == "4");
}

TEST_CASE("a report and a log replace their like, and nothing else") {
    const Splits splits;
    splits.train_briefly();
    const std::string log = splits.scratch / "rows.jsonl", fifo = splits.scratch / "fifo";
    const std::string command = "lockstep eval --data " + splits.data + " -mf " + splits.model;
    for (int again = 0; again < 2; ++again)
        splits.eval("lockstep eval", "-rf .valid -ne 2 --skip-generation true --world-logs " + log);
    CHECK(json_lines(log).size() == 2);

    REQUIRE(::mkfifo(fifo.c_str(), 0666) == 0);
    for (const std::string option : {"-rf ", "--world-logs "}) {
        for (const std::string& file :
             {splits.model + "/config.json", splits.model + "/model.safetensors",
              splits.data + "/dataset.json", splits.scratch / "train.txt"}) {
            const std::string before = read_text(file);
            says(run_line(command + " " + option + file), 2, {file, "would be lost"});
            CHECK(read_text(file) == before);
        }
        says(run_line(command + " " + option + fifo), 2, {fifo, "not a regular file"});
    }
    says(run_line(command + " -rf " + log), 2, {log, "would be lost"});
    const std::string fresh = splits.scratch / "fresh";
    says(run_line(command + " -rf " + fresh + " --world-logs " + fresh), 2, {fresh, "same file"});
    says(splits.train("--max-train-steps 9 --trace " + log), 2, {"--trace", log, "would be lost"});
}

TEST_CASE("display_model shows context, labels and reply of the first rows") {
    const Splits splits;
    splits.train_briefly();
    const std::string out = splits.eval("display_model", "-n 3");
    std::size_t rows = 0, models = 0;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
        rows += line.starts_with("    labels: ") && line.size() > 12 ? 1 : 0;
        models += line.starts_with("     model: ") ? 1 : 0;
    }
    CHECK(rows == 3);
    CHECK(models == 3);
    CHECK(out.find("- - - ROW 2 - - -") != std::string::npos);
    CHECK(splits.eval("display_model", "--split train").find("ROW 9 ") != std::string::npos);
    // Turns of a conversation follow each other, although batches are of similar lengths.
    std::string order;
    std::istringstream again(splits.eval("display_model", "-n 8 -bs 64 -dynb full --split train"));
    for (std::string line; std::getline(again, line);)
        if (line.starts_with("- - - ROW ")) order += line.substr(10, 2);
    CHECK(order == "0 1 2 3 4 5 6 7 ");
}

TEST_CASE("eval says once how many rows are cut, on any number of ranks") {
    const Splits splits;
    splits.train_briefly();
    const std::string options = " --data " + splits.data + " -mf " + splits.model +
                                " --threads 1 --precision fp32 --skip-generation true";
    const auto whole = run_line("lockstep eval --label-truncate 32" + options);
    const auto one = run_line("lockstep eval --text-truncate 3 --label-truncate 3" + options);
    const auto two = run_line(
        "multiprocessing_eval --distributed-world-size 2 --text-truncate 3 --label-truncate 3" +
        options);
    REQUIRE_MESSAGE(one.code == 0, one.err);
    REQUIRE_MESSAGE(two.code == 0, two.err);
    const auto warning = [](const std::string& err) {
        const std::size_t begin = err.find("warning: "), end = err.find(" cut to the model's 32");
        REQUIRE_MESSAGE(end != std::string::npos, err);
        CHECK(err.find(" cut to", end + 1) == std::string::npos);
        return err.substr(begin, end - begin);
    };
    CHECK(warning(one.err) == "warning: 30 rows were");
    CHECK(contains(two.err, warning(one.err) + " cut to"));
    CHECK(whole.err.find("warning: 30 rows") == std::string::npos);
}
