// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/page.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "launcher/report/charts/style.hpp"
#include "tests/launcher/report/well_formed.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher::report;

namespace {

const std::string golden_page = "tests/golden/report/page.html";

// The hand-made run, as if it had been written at a fixed time.
Run hand_made(const std::string& name) {
    Run run = read_run("tests/golden/report/model");
    run.folder = name;
    run.last_line = "2026-03-01T12:00:00Z";
    for (Checkpoint& checkpoint : run.checkpoints) checkpoint.saved = run.last_line;
    return run;
}

std::vector<Run> hand_made_runs(const std::vector<std::string>& names) {
    std::vector<Run> runs;
    for (const std::string& name : names) runs.push_back(hand_made(name));
    return runs;
}

// The page is one file of HTML: it loads nothing and runs nothing.
void check_page(const std::string& html) {
    CHECK(html.starts_with(page_mark));
    CHECK(html.ends_with("</html>\n"));
    CHECK(tests::not_well_formed(html) == "");
    for (const std::string loads :
         {"://", "src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "<object",
          "<embed", "<img", "onload", "onerror=", "nan", "inf\"", "-inf"}) {
        CAPTURE(loads);
        CHECK(html.find(loads) == std::string::npos);
    }
    CHECK(html.size() < 1000000);
}

std::string line(int step, const char* kind) {
    const std::string value = std::to_string(2 + std::sin(step));
    std::string text = std::string("{\"kind\":\"") + kind + "\",\"step\":" + std::to_string(step) +
                       ",\"updates\":" + std::to_string(step - 1) + ",\"seconds\":20";
    for (const char* name :
         {"loss", "ppl", "token_acc", "f1", "bleu-4", "tokens_per_s", "lr", "gnorm", "clip",
          "loss_scale", "hidden", "seconds_data", "seconds_forward", "seconds_backward",
          "seconds_comm_not_hidden", "seconds_optimizer", "seconds_buckets", "seconds_last_bucket"})
        text += std::string(",\"") + name + "\":" + value;
    return text + "}";
}

}  // namespace

TEST_CASE("the page of the hand-made run is the golden one") {
    const std::string html = page(hand_made_runs({"MODEL"}));
    check_page(html);
    if (html == tests::read_text(golden_page)) return;
    const std::string kept = std::filesystem::temp_directory_path() / "lockstep-report-page.html";
    tests::write_text(kept, html);
    FAIL("the page differs; look at it, and if it is as wanted: cp " << kept << " " << golden_page);
}

TEST_CASE("what files and names say is never markup") {
    const std::string hostile = "a/<script>alert(1)<script>\xff\"onload='x'&amp;";
    Run run = hand_made(hostile);
    run.config.emplace_back("</table><script>", "\x01");
    run.saved->options.emplace_back("--><img src=x onerror=y>", "]]>");
    run.failure = Failure{"<b>", "<i>", "<u>", "<s>", "<a href=x>", "&", "\"", "'"};
    for (const std::size_t runs : {1, 2}) {
        const std::string html = page(std::vector<Run>(runs, run));
        CHECK(tests::not_well_formed(html) == "");
        for (const char* markup : {"<script", "<img", "<a ", "<i>", "<u>", "<s>", "\xff", "\x01"}) {
            CAPTURE(markup);
            CHECK(html.find(markup) == std::string::npos);
        }
        CHECK(html.find("&lt;script&gt;alert(1)&lt;script&gt;\uFFFD&quot;onload=&#39;x&#39;&amp;"
                        "amp;") != std::string::npos);
    }
}

TEST_CASE("runs side by side have their colours, their columns and what differs between them") {
    std::vector<Run> runs = hand_made_runs({"runs/a/model", "runs/b/model"});
    runs[1].saved->options.emplace_back("learningrate", "0.5");
    const std::string html = page(runs);
    check_page(html);
    for (const char* words :
         {"2 training runs", "<i class=\"c0\"></i>a/model", "<i class=\"c1\"></i>b/model",
          "<th scope=\"row\">--learningrate</th><td>–</td><td>0.5</td>", "a/model: 4\nb/model: 4",
          "<summary>b/model</summary>"}) {
        CAPTURE(words);
        CHECK(html.find(words) != std::string::npos);
    }
    CHECK(html.find("--model-file</th><td>MODEL</td><td>MODEL") == std::string::npos);
    CHECK(page(hand_made_runs({"a", "b"})).find("No option differs.") != std::string::npos);
}

TEST_CASE("a run that has ended shows what its weights reach") {
    Run run = hand_made("run");
    CHECK(page({run}).find("When training had ended") == std::string::npos);
    run.history.add(
        "{\"kind\":\"final\",\"step\":9000,\"split\":\"test\",\"best\":false,\"ppl\":17.25}");
    const std::string html = page({run});
    check_page(html);
    CHECK(html.find("When training had ended") != std::string::npos);
    CHECK(html.find("17.25") != std::string::npos);
    CHECK(html.find(">last<") != std::string::npos);
}

TEST_CASE("a page that is served runs one script of its server and what is above it") {
    for (const std::size_t runs : {0, 1, 2}) {
        CAPTURE(runs);
        const std::string html =
            live_page(std::vector<Run>(runs, hand_made("run")), "<p>above</p>\n");
        CHECK(tests::not_well_formed(html) == "");
        CHECK(html.find("<p>above</p>") < html.find("<h2>"));
        CHECK(html.find("script-src 'self'; connect-src 'self'") != std::string::npos);
        CHECK(html.find("<script") == html.rfind("<script"));
        CHECK(html.find("src=") == html.find("src=\"/live.js\""));
        CHECK(html.find("://") == std::string::npos);
        CHECK((html.find("<h2>Curves") != std::string::npos) == (runs > 0));
    }
}

TEST_CASE("labels are what the folders do not share") {
    using Words = std::vector<std::string>;
    CHECK(labels_of({"x/y/"}) == Words{"x/y/"});
    CHECK(labels_of({"x/a/m", "x/b/m"}) == Words{"a/m", "b/m"});
    CHECK(labels_of({"x/a", "x/a/m"}) == Words{"a", "a/m"});
    CHECK(labels_of({"/x/a/", "/x/b"}) == Words{"a", "b"});
    CHECK(labels_of({"a", "a"}) == Words{"a", "a"});
    CHECK(labels_of({"../a", "b"}) == Words{"../a", "b"});
}

TEST_CASE("as many long runs as there may be make a page of less than a megabyte") {
    Run run = hand_made("run");
    run.history = History();
    for (int step = 1; step <= 3000; ++step) {
        run.history.add(line(step, "train"));
        run.history.add(line(step, "valid"));
    }
    std::vector<Run> runs(colours, run);
    for (std::size_t i = 0; i < runs.size(); ++i)
        runs[i].folder = "a/folder/with/a/rather/long/name/" + std::to_string(i);
    check_page(page(runs));
    check_page(page({run}));
}

TEST_CASE("a page can be made of a single line of one rank, also without any value") {
    for (const char* only :
         {"{\"kind\":\"train\",\"step\":1,\"loss\":2.5,\"seconds\":1}",
          "{\"kind\":\"train\",\"step\":0}", "{\"kind\":\"valid\",\"step\":0,\"ppl\":null}",
          "{\"kind\":\"train\",\"step\":9223372036854775807,\"updates\":0,\"lr\":0}"}) {
        CAPTURE(only);
        Run run = hand_made("run");
        run.checkpoints.clear();
        run.saved.reset();
        run.history = History();
        run.history.add(only);
        REQUIRE(run.history.used_lines() == 1);
        check_page(page({run}));
    }
}

TEST_CASE("values that no run has make a page too") {
    Run run = hand_made("run");
    run.history = History();
    int step = 0;
    for (const std::string value :
         {"1e99", "-1e99", "5e-324", "0", "-5e-324", "1e308", "18446744073709551615"}) {
        std::string line = "{\"kind\":\"train\",\"step\":" + std::to_string(++step);
        for (const char* name :
             {"updates", "epoch", "loss", "ppl", "tokens", "rows", "truncated_rows", "tokens_per_s",
              "gnorm", "clip", "loss_scale", "seconds", "seconds_data", "seconds_buckets",
              "seconds_buckets_not_hidden", "seconds_last_bucket", "peak_memory_bytes"})
            line += std::string(",\"") + name + "\":" + value;
        run.history.add(line + "}");
        CAPTURE(value);
        check_page(page({run}));
    }
    CHECK(run.history.used_lines() == step);
}

TEST_CASE("the check for well-formed pages finds what is not") {
    using tests::not_well_formed;
    CHECK(not_well_formed("<a b=\"c\"><d/>&lt;</a>") == "");
    CHECK(not_well_formed("<a><b></a></b>") == "</a> out of order");
    CHECK(not_well_formed("<a>") == "<a> without its end");
    CHECK(not_well_formed("a & b") == "a lone &");
    CHECK(not_well_formed("a > b") == "a lone >");
}
