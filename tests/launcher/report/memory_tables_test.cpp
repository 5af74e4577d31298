// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/memory_tables.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "launcher/report/page.hpp"
#include "tests/launcher/report/well_formed.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::launcher::report;
using tests::contains;

namespace {

Run hand_made() { return read_run("tests/golden/report/model"); }

// Returns a run of these steps, each of which has sent to the groups that `values` names.
Run with_lines(int steps, const std::string& values) {
    Run run = hand_made();
    run.history = History();
    for (int step = 1; step <= steps; ++step)
        run.history.add("{\"kind\":\"train\",\"step\":" + std::to_string(step) + ",\"updates\":1" +
                        values + "}");
    return run;
}

}  // namespace

TEST_CASE("what a run has planned and seen of its memory is read from report.json") {
    const tests::ScratchFolder scratch;
    std::filesystem::copy("tests/golden/report/model", scratch.path(),
                          std::filesystem::copy_options::recursive);
    CHECK(memory_table(read_run(scratch.path())).empty());
    const auto table_of = [&](const std::string& memory) {
        tests::write_text(scratch / "report.json", "{\"memory\":" + memory + "}");
        return memory_table(read_run(scratch.path()));
    };
    const std::string whole = table_of(
        R"({"peak_bytes":[3145728,1048576,2097152],)"
        R"("parts":[{"name":"gradients <fp32>","bytes":1048576},{"name":"activations","bytes":1048576}]})");
    CHECK(contains(whole, "gradients &lt;fp32&gt;"));
    CHECK(contains(whole, "all of rank 0, as planned</th><td>2 MiB"));
    CHECK(contains(whole, "memory</th><td>3 MiB"));
    CHECK(contains(whole, "other ranks</th><td>1 MiB to 2 MiB"));
    CHECK_FALSE(contains(whole, "GPU"));
    const std::string on_gpus = table_of(R"({"peak_bytes":[1,1],"gpu_bytes":[2097152,4194304]})");
    CHECK(contains(on_gpus, "all processes used at the end</th><td>2 MiB"));
    CHECK(contains(on_gpus, "ranks&#39; GPUs</th><td>4 MiB"));
    CHECK_FALSE(contains(table_of(R"({"peak_bytes":[1048576]})"), "planned"));
    CHECK_FALSE(contains(table_of(R"({"peak_bytes":[1048576]})"), "other ranks"));
    for (const char* damaged :
         {"1", "{}", "[]", R"({"peak_bytes":1,"parts":"a"})",
          R"({"peak_bytes":["x",-1,1e300],"parts":[1,{"bytes":"a"},{"name":7,"bytes":-9}]})"}) {
        CAPTURE(damaged);
        CHECK(tests::not_well_formed("<p>" + table_of(damaged) + "</p>") == "");
    }
}

TEST_CASE("the bytes and the hidden share of each group are told") {
    CHECK(traffic_table(hand_made()).empty());
    const std::string html =
        traffic_table(with_lines(4,
                                 ",\"bytes_weights\":1048576,\"seconds_weights\":2.0,"
                                 "\"seconds_weights_not_hidden\":0.5,\"bytes_replicas\":3145728,"
                                 "\"seconds_replicas\":1.0,\"seconds_replicas_not_hidden\":1.0"));
    CAPTURE(html);
    CHECK(contains(html, "share a replica</th><td>1 MiB</td><td>4 MiB</td><td>8 s</td><td>75.0 %"));
    CHECK(contains(html, "between replicas</th><td>3 MiB</td><td>12 MiB</td><td>4 s</td><td>0 %"));
    CHECK_FALSE(contains(html, "summed among these ranks"));
    CHECK_FALSE(contains(html, "among the stages"));
    const std::string divided =
        traffic_table(with_lines(2,
                                 ",\"bytes_tensor\":1048576,\"seconds_tensor\":1.0,"
                                 "\"seconds_tensor_not_hidden\":1.0,\"bytes_pipeline\":1024,"
                                 "\"seconds_pipeline\":0.5,\"seconds_pipeline_not_hidden\":0.5"));
    CAPTURE(divided);
    CHECK(contains(divided, "layer together</th><td>1 MiB</td><td>2 MiB</td><td>2 s</td><td>0 %"));
    CHECK(
        contains(divided, "among the stages</th><td>1 KiB</td><td>2 KiB</td><td>1 s</td><td>0 %"));
}

TEST_CASE("the page has the tables of a run that knows them") {
    Run run = with_lines(2, ",\"bytes_replicas\":1024,\"seconds_replicas\":0.5");
    run.memory = RunMemory{{{"activations", 1024}}, {4096}};
    const std::string html = page({run});
    CHECK(contains(html, "<h2>Memory by part</h2>"));
    CHECK(contains(html, "<h2>Sent by rank 0, by group</h2>"));
    CHECK(tests::not_well_formed(html) == "");
}
