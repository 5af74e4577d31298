// SPDX-License-Identifier: Apache-2.0
// A run is continued with other options: what comes from the checkpoint, what may change, and each
// row once an epoch all the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/launcher/programs/continued_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep::tests;

namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string ranks(int world) {
    return world == 1 ? "train"
                      : "multiprocessing_train --distributed-world-size " + std::to_string(world);
}

const std::string once = "each of 397 rows used exactly once";

}  // namespace

TEST_CASE("the rest of an epoch is dealt exactly once whatever the micro-batches become") {
    const std::vector<std::pair<std::string, std::string>> changes{
        {"-bs 4", "-bs 16"},
        {"-bs 16", "-bs 4"},
        {"-bs 8", "-bs 8 -dynb full --truncate 64"},
        {"-bs 4 -dynb full --truncate 64", "-bs 3 -dynb off --truncate 32"},
        {"-bs 8 --num-workers 2", "-bs 12 --num-workers 0 -dynb batchsort"}};
    for (const auto& [first, then] : changes)
        for (const int world : {1, 2, 3}) {
            CAPTURE(first);
            CAPTURE(then);
            CAPTURE(world);
            const Prepared run;
            const std::string begin = first + " --logical-shards 3 --max-train-steps 8";
            Prepared::done(ranks(world) + run.start() + " " + begin);
            const std::int64_t before = run.rows_trained();
            REQUIRE(before > 0);
            REQUIRE(before < epoch_rows);
            const std::string said =
                Prepared::done(ranks(world % 3 + 1) + run.start() + " " + then + " --num-epochs 2");
            CHECK_MESSAGE(holds(said, "epoch 1: " + once), said);
            CHECK_MESSAGE(holds(said, "epoch 2: " + once), said);
            CHECK(run.rows_trained() == 2 * epoch_rows);
        }
}

TEST_CASE("a continued run takes the options that it was started with") {
    const Prepared run;
    Prepared::done("train" + run.start() +
                   " -bs 8 -lr 0.25 --optimizer sgd --momentum 0.5 --lr-scheduler invsqrt"
                   " --warmup-updates 3 --max-train-steps 6 --validation-every-n-steps 2");
    const std::string all = Prepared::done("train -mf " + run.model + " --max-train-steps 10");
    CHECK_MESSAGE(holds(all, "continued with --max-train-steps 10 instead of 6"), all);
    for (const auto& line : train_metrics(run.model)) CHECK(line.at("rows") == 8);
    CHECK(train_metrics(run.model).size() == 10);
    CHECK(metrics(run.model, "valid").size() >= 5);

    const std::string changed =
        Prepared::done("multiprocessing_train --distributed-world-size 1 -mf " + run.model +
                       " -bs 4 -lr 0.125 --max-train-steps 12");
    CHECK_MESSAGE(holds(changed,
                        "continued with --batchsize 4 instead of 8, --learningrate 0.125 instead "
                        "of 0.25, --max-train-steps 12 instead of 10"),
                  changed);
    CHECK(train_metrics(run.model).back().at("rows") == 4);
    // The changed options are now those of the run.
    Prepared::done("train -mf " + run.model + " --max-train-steps 13");
    CHECK(train_metrics(run.model).back().at("rows") == 4);
}

TEST_CASE("a finished run that is started again says so and writes nothing") {
    const Prepared prepared;
    const auto files = [&] {
        std::map<std::string, std::filesystem::file_time_type> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(prepared.model))
            if (entry.is_regular_file()) found[entry.path()] = entry.last_write_time();
        return found;
    };
    for (const std::string program :
         {"train", "multiprocessing_train --distributed-world-size 2"}) {
        CAPTURE(program);
        const std::string line = program + prepared.start() + " -bs 8 --max-train-steps 2";
        CHECK_FALSE(holds(Prepared::done(line), "ended before"));
        const auto before = files();
        CHECK(holds(Prepared::done(line), "training ended before: the number of steps is reached"));
        CHECK(files() == before);
        // A run whose last evaluation did not come to its end makes up for it.
        std::filesystem::remove(prepared.model + "/report.json");
        CHECK_FALSE(holds(Prepared::done(line), "ended before"));
        CHECK(std::filesystem::exists(prepared.model + "/report.json"));
        CHECK_FALSE(holds(Prepared::done(line + " --max-train-steps 3"), "ended before"));
        std::filesystem::remove_all(prepared.model);
    }
}

TEST_CASE("a run that has ended stays ended until what ended it is changed") {
    const Prepared prepared;
    const auto files = [&] {
        std::map<std::string, std::pair<std::filesystem::file_time_type, std::string>> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(prepared.model))
            if (entry.is_regular_file())
                found[entry.path()] = {entry.last_write_time(), read_text(entry.path())};
        return found;
    };
    struct End {
        std::string options, told, way, more, then;
    };
    const std::vector<End> ends{
        {"-bs 8 --num-epochs 0.1", "the number of epochs is reached",
         "give a larger --num-epochs to go on", "--num-epochs 0.2", "number of epochs is reached"},
        {"-bs 8 --max-train-steps 3", "the number of steps is reached",
         "give a larger --max-train-steps to go on", "--max-train-steps 4",
         "number of steps is reached"},
        {"-bs 8 --max-train-time 1e-9", "the time is over",
         "give a larger --max-train-time to go on", "--max-train-steps 4",
         "number of steps is reached"},
        {"-bs 8 --max-train-steps 9 -vstep 2 -vp 2 -lr 0", "2 validations in a row were no better",
         "give a larger --validation-patience or another --learningrate to go on", "-vp 3",
         "3 validations in a row were no better"},
        {"-bs 8 --max-train-steps 9 -vstep 2 -vmt loss -vcut 100",
         "the validation metric is good enough",
         "give a --validation-cutoff that is harder to reach to go on", "-vcut 0",
         "number of steps is reached"}};
    for (const End& end : ends) {
        CAPTURE(end.options);
        std::filesystem::remove_all(prepared.model);
        const std::string line = "train" + prepared.start() + " " + end.options;
        CHECK(holds(Prepared::done(line), "training ended: " + end.told));
        const auto before = files();
        for (const std::string& again : {line, "train -mf " + prepared.model}) {
            const std::string said = Prepared::done(again);
            CHECK_MESSAGE(holds(said, "training ended before: " + end.told +
                                          "; nothing was trained or written, " + end.way),
                          said);
            CHECK(files() == before);
        }
        const std::string said = Prepared::done("train -mf " + prepared.model + " " + end.more);
        CHECK_MESSAGE(holds(said, "training ended: the " + end.then) +
                          holds(said, "training ended: " + end.then),
                      said);
    }
}

TEST_CASE("a run that has passed a limit which it is given now says so, and does nothing") {
    const Prepared prepared;
    const auto files = [&] {
        std::map<std::string, std::pair<std::filesystem::file_time_type, std::string>> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(prepared.model))
            if (entry.is_regular_file())
                found[entry.path()] = {entry.last_write_time(), read_text(entry.path())};
        return found;
    };
    const std::string line = "train" + prepared.start() + " -bs 8 --max-train-steps ";
    const auto passed = [&](const std::string& beginning) {
        const auto before = files();
        const std::vector<std::pair<std::string, std::string>> limits{
            {"--max-train-steps 3", "the number of steps is reached"},
            {"--num-epochs 0.05", "the number of epochs is reached"},
            {"--max-train-time 1e-9", "the time is over"},
            {"--max-train-steps 99 --validation-patience 1", " no better"},
            {"--max-train-steps 99 --validation-cutoff 1e9", "metric is good enough"}};
        for (const auto& [limit, why] : limits) {
            CAPTURE(limit);
            const std::string said = Prepared::done("train -mf " + prepared.model + " " + limit);
            CAPTURE(said);
            CHECK(holds(said, beginning));
            CHECK(holds(said, why));
            CHECK(holds(said, " to go on"));
            CHECK_FALSE(holds(said, "training ended: "));
            CHECK_FALSE(holds(said, "evaluating"));
            CHECK(files() == before);
        }
    };
    const std::string validated = " --validation-every-n-steps 2 -lr 0 -vmt ppl";
    SUBCASE("after its end") {
        Prepared::done(line + "4" + validated);
        passed("training ended before: ");
    }
    SUBCASE("after a stop") {
        const auto stopped =
            run_program({"bash", "-c",
                         "PATH=${0%/*}:$PATH; " + line + "1000000" + validated +
                             " --validation-patience 0 & p=$!; until [ $(grep -c '\"valid\"' " +
                             prepared.model +
                             "/metrics.jsonl 2> /dev/null) -gt 3 ] 2> /dev/null; do sleep "
                             "0.05; done; kill $p; wait $p",
                         program_path("lockstep")});
        REQUIRE_MESSAGE(stopped.code == 0, stopped.out << stopped.err);
        CHECK_FALSE(std::filesystem::exists(prepared.model + "/report.json"));
        passed("nothing was trained or written: ");
    }
}

TEST_CASE("a changed rate counts validations without a better one anew, and another metric all") {
    const Prepared run;
    Prepared::done("train" + run.start() + " -bs 8 --max-train-steps 90 -vstep 2 -vp 2 -lr 0");
    const auto validations = [&] {
        std::vector<int> steps;
        for (const auto& line : metrics(run.model, "valid")) steps.push_back(line.at("step"));
        return steps;
    };
    CHECK(validations() == std::vector<int>{2, 4, 6});
    const std::string train = "train -mf " + run.model;
    std::string said = Prepared::done(train + " --keep 3");
    CHECK_MESSAGE(holds(said, "training ended: 2 validations in a row were no better; give a "),
                  said);
    CHECK(validations() == std::vector<int>{2, 4, 6});
    said = Prepared::done(train + " --weight-decay 0.01");
    CHECK_MESSAGE(holds(said,
                        "continued with --weight-decay 0.01 instead of 0; 2 validations "
                        "without a better one no longer count"),
                  said);
    CHECK(validations() == std::vector<int>{2, 4, 6, 8, 10});
    said = Prepared::done("multiprocessing_train --distributed-world-size 2 -mf " + run.model +
                          " -lr 1e-30");
    CHECK_MESSAGE(holds(said,
                        "--learningrate 1e-30 instead of 0; 2 validations without a better "
                        "one no longer count"),
                  said);
    CHECK(validations() == std::vector<int>{2, 4, 6, 8, 10, 12, 14});
    said = Prepared::done(train + " -vmt token_acc");
    CHECK_MESSAGE(holds(said, "; the next validation is the best so far"), said);
    CHECK_MESSAGE(holds(said, "best so far\n"), said);
    CHECK(validations() == std::vector<int>{2, 4, 6, 8, 10, 12, 14, 16, 18, 20});
}

TEST_CASE("micro-batches of one row are told as slow") {
    const Prepared prepared;
    const std::string line = "train" + prepared.start() + " --max-train-steps 1 -bs ";
    CHECK(holds(Prepared::done(line + "1"), "a micro-batch has one row (--batchsize 1)"));
    std::filesystem::remove_all(prepared.model);
    CHECK_FALSE(holds(Prepared::done(line + "2"), "a micro-batch has one row"));
}

TEST_CASE("a changed rate is told with the digits that were given") {
    const Prepared run;
    Prepared::done("train" + run.start() + " -bs 8 --dropout 0.2 --max-train-steps 1");
    const std::string said =
        Prepared::done("train -mf " + run.model + " --dropout 0.1 --max-train-steps 2");
    CHECK_MESSAGE(holds(said, "--dropout 0.1 instead of 0.2,"), said);
}

TEST_CASE("a limit that was none is told in words") {
    const Prepared run;
    Prepared::done("train" + run.start() +
                   " -bs 8 --num-epochs 0.05 --validation-every-n-steps 2 -lstep 1");
    const std::string said =
        Prepared::done("train -mf " + run.model +
                       " --max-train-steps 4 --validation-every-n-steps -1 --save-every-n-steps 2");
    CHECK_MESSAGE(holds(said, "--max-train-steps 4 instead of no limit"), said);
    CHECK_MESSAGE(holds(said, "--save-every-n-steps 2 instead of off"), said);
    CHECK_MESSAGE(holds(said, "--validation-every-n-steps -1 (off) instead of 2"), said);
}

TEST_CASE("an option that a given one replaces is told as well") {
    const Prepared run;
    Prepared::done("train" + run.start() +
                   " -bs 8 --num-epochs 0.1 --text-truncate 64 --label-truncate 32");
    const std::string said =
        Prepared::done("train -mf " + run.model + " --max-train-steps 6 --truncate 48");
    CHECK_MESSAGE(holds(said, "--max-train-steps 6 instead of no limit, "), said);
    CHECK_MESSAGE(holds(said, ", without --num-epochs 0.1"), said);
    CHECK_MESSAGE(holds(said, ", without --text-truncate 64, without --label-truncate 32"), said);
}

TEST_CASE("other data are told, and the same data under another name are none") {
    const Prepared run;
    Prepared::done("train" + run.start() + " -bs 8 --num-epochs 1");
    const std::string copy = run.scratch / "copy", again = " --num-epochs 2 --data ";
    std::filesystem::copy(run.data, copy, std::filesystem::copy_options::recursive);
    const std::string same =
        Prepared::done("train -mf " + run.model + again + run.data + "/../data/");
    CHECK_MESSAGE(!holds(same, "--data "), same);
    const std::string other =
        Prepared::done("train -mf " + run.model + " --num-epochs 3 --data " + copy);
    CHECK_MESSAGE(holds(other, "continued with --data " + copy + " instead of " + run.data), other);
}

TEST_CASE("a continued run does not need the model that it began with") {
    const Prepared run;
    const std::string initial = run.scratch / "initial";
    Prepared::done("train" + run.start() + " -bs 8 --max-train-steps 1");
    std::filesystem::rename(run.model, initial);
    const std::string begin = run.start() + " -bs 8 --max-train-steps ", from = " -im " + initial;
    CHECK_MESSAGE(!holds(Prepared::done("train" + begin + "2" + from), "is not read"), initial);
    std::filesystem::remove_all(initial);
    for (const int world : {1, 2}) {
        const std::string steps = std::to_string(2 + world);
        const std::string said = Prepared::done(ranks(world) + begin + steps + from);
        CHECK_MESSAGE(holds(said, "continuing after step " + std::to_string(1 + world)), said);
        CHECK_MESSAGE(holds(said, "--init-model " + initial + " is not read: the run continues"),
                      said);
    }
    std::filesystem::remove_all(run.model);
    CHECK(holds(Prepared::refused("train" + begin + "2" + from), "does not exist"));
}

TEST_CASE("-mf alone, without a checkpoint to continue from, is told as such") {
    const Prepared run;
    for (const int world : {1, 2}) {
        const std::string said = Prepared::refused(ranks(world) + " -mf " + run.model);
        CHECK_MESSAGE(holds(said, "--data: name what `lockstep prepare` wrote"), said);
        CHECK_MESSAGE(holds(said, run.model + " holds no checkpoint to continue from"), said);
    }
}

TEST_CASE("a limit that is given replaces the limits of the start") {
    const Prepared run;
    Prepared::done("train" + run.start() + " -bs 8 --max-train-steps 6");
    const std::string said = Prepared::done("train -mf " + run.model + " --num-epochs 1");
    CHECK_MESSAGE(holds(said, "epoch 1: " + once), said);
    CHECK(run.rows_trained() == epoch_rows);
}

TEST_CASE("an option that must not change is refused with both values, before anything starts") {
    const Prepared run;
    Prepared::done("train" + run.start() + " -bs 8 --optimizer adam --max-train-steps 6");
    const std::string before = read_text(run.model + "/metrics.jsonl");
    for (const int world : {1, 2}) {
        const std::string again = ranks(world) + " -mf " + run.model + " --max-train-steps 9 ";
        for (const auto& [option, then] : std::vector<std::pair<std::string, std::string>>{
                 {"--seed 2", "started with 1"},
                 {"--logical-shards 5", "started with 1"},
                 {"--optimizer sgd", "started with adam"},
                 {"--amsgrad true", "started with false"},
                 {"--embedding-size 32", "has 16"}}) {
            const std::string said = Prepared::refused(again + option);
            const auto blank = option.find(' ');
            CHECK_MESSAGE(holds(said, option.substr(0, blank)), said);
            CHECK_MESSAGE(holds(said, option.substr(blank)), said);
            CHECK_MESSAGE(holds(said, then), said);
        }
    }
    CHECK(read_text(run.model + "/metrics.jsonl") == before);
}

TEST_CASE("another data set is refused in the middle of an epoch, and begins the next one") {
    const Prepared run;
    copy_head("examples/shakespeare/train.txt", run.scratch / "less.txt", 120);
    Prepared::done("lockstep prepare --dict-file " + run.data + " --input " +
                   (run.scratch / "less.txt") + " --valid " + (run.scratch / "valid.txt") +
                   " --out " + (run.scratch / "less"));
    Prepared::done("train" + run.start() + " -bs 8 --max-train-steps 6");
    const std::string other =
        "train -mf " + run.model + " --data " + (run.scratch / "less") + " --num-epochs 2";
    const std::string said = Prepared::refused(other);
    CHECK_MESSAGE(holds(said, "397 rows"), said);
    CHECK_MESSAGE(holds(said, "120 rows"), said);
    Prepared::done("train -mf " + run.model + " --num-epochs 1");
    const std::string next = Prepared::done(other);
    CHECK_MESSAGE(holds(next, "begins with another data set: 120 rows"), next);
    CHECK_MESSAGE(holds(next, "epoch 2: each of 120 rows used exactly once"), next);
}

TEST_CASE("another data set of the same size is refused in mid-epoch, and begins the next one") {
    const Prepared run;
    // The same lines in another order: rows, tokens and shards are as many.
    std::string text = read_text(run.scratch / "train.txt");
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    text.clear();
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) text += *line + "\n";
    write_text(run.scratch / "reversed.txt", text);
    const auto prepare = [&](const std::string& input, const std::string& name) {
        Prepared::done("lockstep prepare --dict-file " + run.data + " --history-size 1 --input " +
                       (run.scratch / input) + " --out " + (run.scratch / name));
    };
    prepare("train.txt", "forward");
    prepare("train.txt", "again");
    prepare("reversed.txt", "backward");
    const auto with = [&](const std::string& name) {
        return "train -mf " + run.model + " --data " + (run.scratch / name) + " --num-epochs 2";
    };
    std::string start = run.start();
    start.replace(start.find(run.data), run.data.size(), run.scratch / "forward");
    Prepared::done("train" + start + " -bs 8 --max-train-steps 6");
    const std::string said = Prepared::refused(with("backward"));
    CHECK_MESSAGE(holds(said, "in the middle of epoch 1 over 397 rows"), said);
    CHECK_MESSAGE(holds(said, "(content "), said);
    CHECK(std::ranges::count(said, '\n') == 1);
    // The content decides, not the path.
    Prepared::done(with("again") + " --max-train-steps 7");
    Prepared::done("train -mf " + run.model + " --data " + (run.scratch / "again") +
                   " --num-epochs 1");
    const std::string next = Prepared::done(with("backward"));
    CHECK_MESSAGE(holds(next, "epoch 2 begins with another data set: 397 rows"), next);
    CHECK_MESSAGE(holds(next, "epoch 2: each of 397 rows used exactly once"), next);
}
